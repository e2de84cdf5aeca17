import type { QueueTable } from './definition.ts';

/** The column names and SQL conditions of a queue table, from which statements are built. */
export interface Columns {
  table: string;
  id: string;
  idType: string;
  state: string;
  runAt: string;
  attempts: string;
  finishedAt: string;
  /** The SQL condition for items that wait or are in flight. */
  open: string;
  /** The SQL condition for dead letters. */
  dead: string;
  /** The SQL condition for items that wait or are in flight, and for dead letters. */
  unfinished: string;
  /** The column whose value identifies the current lease of an item; `leaseType` is the SQL type of this column. */
  lease: string;
  leaseType: string;
  /** The SQL assignments that end an item's lease. */
  unleased: string;
}

export function columnsOf({ name, id, idType, columns = {}, holder, conditions }: QueueTable): Columns {
  const { state = 'state', runAt = 'run_at', attempts = 'attempts', finishedAt = 'finished_at' } = columns;
  return {
    table: name,
    id,
    idType,
    state,
    runAt,
    attempts,
    finishedAt,
    open: conditions?.open ?? `${finishedAt} IS NULL AND ${state} = 'queued'`,
    dead: conditions?.dead ?? `${finishedAt} IS NULL AND ${state} = 'dead'`,
    unfinished: conditions ? `(${conditions.open} OR ${conditions.dead})` : `${finishedAt} IS NULL`,
    lease: holder ?? 'leased_until',
    leaseType: holder === undefined ? 'timestamptz' : 'uuid',
    unleased: `leased_until = NULL${holder === undefined ? '' : `, ${holder} = NULL`}`,
  };
}
