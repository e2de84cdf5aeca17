import type { QueueTable } from './definition.ts';

/** A queue table's names for SQL, and the condition of items that are to be handled. */
export interface Columns {
  table: string;
  id: string;
  idType: string;
  runAt: string;
  attempts: string;
  finishedAt: string;
  open: string;
}

export function columnsOf({ name, id, idType, columns = {} }: QueueTable): Columns {
  const { runAt = 'run_at', attempts = 'attempts', finishedAt = 'finished_at' } = columns;
  return { table: name, id, idType, runAt, attempts, finishedAt, open: `${finishedAt} IS NULL AND state = 'queued'` };
}
