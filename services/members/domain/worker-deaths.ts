import { ApiError } from '#kit/errors.ts';
import type { ClaimedItem } from '#kit/queue/definition.ts';

/** The attempts that may end with their process: an update or a stop of the whole installation also ends attempts, and may last long. */
const MAX_LOST_ATTEMPTS = 3;

/** Thrown if the attempts at an item end together with their processes, for example because they need too much memory. */
export class WorkersDied extends ApiError {
  constructor() {
    super('INTERNAL', { message: 'The processes that worked on it ended before it was done' });
  }
}

/**
 * Throws WorkersDied if an item that gives up after `giveUpSeconds` without progress has made none for `stalledSeconds`, and
 * an attempt in between would have given up, had it not ended with its process.
 */
export function throwIfWorkersDied(
  { attempts }: Pick<ClaimedItem, 'attempts'>,
  stalledSeconds: number,
  giveUpSeconds: number,
): void {
  if (attempts > MAX_LOST_ATTEMPTS && stalledSeconds > 2 * giveUpSeconds) throw new WorkersDied();
}
