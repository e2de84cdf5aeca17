import type { QueueTable } from './definition.ts';

/** A queue table's names and conditions for SQL. */
export interface Columns {
  table: string;
  id: string;
  idType: string;
  state: string;
  runAt: string;
  attempts: string;
  finishedAt: string;
  /** Items to be handled. */
  open: string;
  /** Dead letters. */
  dead: string;
  /** Items to be handled, and dead letters. */
  unfinished: string;
  /** The column whose value names a lease, and its type. */
  lease: string;
  leaseType: string;
  /** Assignments that end a lease. */
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
