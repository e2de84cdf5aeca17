import pLimit from 'p-limit';
import { ApiError } from '../errors.ts';
import { DeadlineError, within } from '../resilience/deadline.ts';
import { SingleFlight } from '../resilience/single-flight.ts';

/** The maximum number of guilds that wait for a read of another guild. */
const MAX_WAITING = 100;

export interface BoundedReadsOptions<Value> {
  /** Reads the state of a guild. */
  read: (guildId: string) => Promise<Value>;
  /** The maximum number of guilds that are read at the same time. */
  maxReads: number;
  /** How long, in milliseconds, a caller waits. */
  waitMs: number;
}

/**
 * Bounds what reads of the state of guilds consume: concurrent callers share the read of a guild, few guilds are read at
 * the same time, and a caller waits for a limited time.
 */
export class BoundedReads<Value> {
  readonly #options: BoundedReadsOptions<Value>;
  readonly #calls = new SingleFlight<Value>();
  readonly #limit;

  constructor(options: BoundedReadsOptions<Value>) {
    this.#options = options;
    this.#limit = pLimit(options.maxReads);
  }

  /**
   * Returns the state of a guild. Throws UNAVAILABLE if reading it takes too long, or if too many guilds are
   * being read.
   */
  async of(guildId: string): Promise<Value> {
    const { read, waitMs } = this.#options;
    const call = this.#calls.run(guildId, async () => {
      if (this.#limit.pendingCount >= MAX_WAITING) {
        throw new ApiError('UNAVAILABLE', { message: 'The state of too many guilds is being read, try again soon' });
      }
      return this.#limit(() => read(guildId));
    });
    try {
      return await within(waitMs, call);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      throw new ApiError('UNAVAILABLE', { message: 'Reading the state of the guild took too long', cause: error });
    }
  }
}
