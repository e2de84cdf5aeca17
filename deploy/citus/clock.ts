/**
 * Citus does not run a change with a VOLATILE function, such as clock_timestamp(), because each node would compute its
 * own value. This schema comes before pg_catalog in the search path, so that statements get a clock that the coordinator
 * reads once for each change. Plain PostgreSQL does not have it.
 */
export const CLOCK_SCHEMA = 'coordinator_clock';

export const CREATE_CLOCK = [
  `CREATE SCHEMA IF NOT EXISTS ${CLOCK_SCHEMA}`,
  `GRANT USAGE ON SCHEMA ${CLOCK_SCHEMA} TO PUBLIC`,
  `CREATE OR REPLACE FUNCTION ${CLOCK_SCHEMA}.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
     AS 'SELECT pg_catalog.clock_timestamp()'`,
];

/** The settings of a distributed database, on the coordinator. */
export const SETTINGS: Readonly<Record<string, string>> = {
  search_path: `${CLOCK_SCHEMA}, pg_catalog, public`,
  // Triggers run on the node of the row. Ours change only rows of the same guild, which are on the same node.
  'citus.enable_unsafe_triggers': 'on',
};
