import { databaseRows } from '../../postgres/database.ts';

const MAX_DELAY_SECONDS = 0.05;

/** Delays every commit that changes rows of these tables at random. Returns a function that ends this. */
export async function delayCommits(url: string, tables: readonly string[]): Promise<() => Promise<unknown>> {
  await databaseRows(
    url,
    `CREATE FUNCTION public.delay_commit() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       PERFORM pg_sleep(random() * ${MAX_DELAY_SECONDS});
       RETURN NULL;
     END $$`,
  );
  for (const table of tables) {
    await databaseRows(
      url,
      `CREATE CONSTRAINT TRIGGER delay_commit AFTER INSERT OR UPDATE ON ${table} DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION public.delay_commit()`,
    );
  }
  return () => databaseRows(url, 'DROP FUNCTION public.delay_commit CASCADE');
}
