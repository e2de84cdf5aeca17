/**
 * Citus does not run a change with a VOLATILE function, such as clock_timestamp(), because each node would compute its
 * own value. This schema comes before pg_catalog in the search path, so that statements get a clock that the coordinator
 * reads once for each statement. Plain PostgreSQL does not have it.
 */
export const CLOCK_SCHEMA = 'coordinator_clock';

export const CREATE_CLOCK = [
  `CREATE SCHEMA ${CLOCK_SCHEMA}`,
  `GRANT USAGE ON SCHEMA ${CLOCK_SCHEMA} TO PUBLIC`,
  `CREATE FUNCTION ${CLOCK_SCHEMA}.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
     AS 'SELECT pg_catalog.clock_timestamp()'`,
];

/** The setting of a database with which its sessions use the clock. */
export const CLOCK_SETTING = `search_path = ${CLOCK_SCHEMA}, pg_catalog, public`;
