/** With Citus the schema of our clock exists (deploy/citus/clock.ts). */
const DISTRIBUTION = `SELECT to_regnamespace('coordinator_clock') IS NOT NULL AS "isDistributed"`;

/** What runs a statement: a pool, or one of its connections. */
interface Reader {
  query<Result extends object>(statement: string): Promise<Result[]>;
}

/** Returns a function that reads once whether Citus distributes the tables of a database. */
export function distributionReader(): (on: Reader) => Promise<boolean> {
  let isDistributed: boolean | undefined;
  return async (on) => {
    if (isDistributed !== undefined) return isDistributed;
    const [row] = await on.query<{ isDistributed: boolean }>(DISTRIBUTION);
    return (isDistributed = row?.isDistributed ?? false);
  };
}
