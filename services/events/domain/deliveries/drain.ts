import type { Database } from '#kit/postgres/pool.ts';
import { readEvents } from '../../store/log.ts';
import { type LeasedEndpoint, postponeTurn, settleTurn } from '../../store/turns.ts';
import type { LogEvent } from '../log-event.ts';
import { visibleTypes } from '../visible-types.ts';
import type { Attempted, Attempts } from './attempts.ts';

/** The maximum number of events that an endpoint receives in one turn. The slot is then given to another endpoint. */
const MAX_EVENTS = 50;
/** The time in milliseconds after which a turn of an endpoint ends; a delivery attempt in flight is completed first. */
const TURN_MS = 5_000;
const MAX_BYTES = 512 * 1024;
/** Seconds until the next turn if an event could not be sent for a reason of this installation. */
const POSTPONE_SECONDS = 5;

/** Disables an endpoint whose receiver responded that it wants no more events, and stores this attempt. */
export type DisableGone = (
  recipient: Pick<LeasedEndpoint, 'guildId' | 'id' | 'url'>,
  attempt: Attempted,
) => Promise<void>;

export interface DrainOptions {
  database: Database;
  attempts: Attempts;
  disableGone: DisableGone;
  /** True if the process stops: no further event is sent. */
  isStopping: () => boolean;
}

/** The turn of one endpoint: its next events are sent in order, and the cursor is stored after each. */
export class Drain {
  readonly #options: DrainOptions;
  readonly #endpoint: LeasedEndpoint;
  readonly #types: readonly string[];
  readonly #becameSlow: () => void;
  readonly #until = performance.now() + TURN_MS;
  #cursor: number;
  #sent = 0;

  constructor(options: DrainOptions & { endpoint: LeasedEndpoint; becameSlow: () => void }) {
    const { endpoint, becameSlow } = options;
    this.#options = options;
    this.#endpoint = endpoint;
    this.#types = visibleTypes(endpoint.scopes, endpoint.types);
    this.#becameSlow = becameSlow;
    this.#cursor = endpoint.cursorSeq;
  }

  /** Sends up to 50 events. Returns true if the endpoint is due for another turn. */
  async run(): Promise<boolean> {
    for (;;) {
      const { guildId } = this.#endpoint;
      const request = { guildId, after: this.#cursor, types: this.#types, limit: MAX_EVENTS - this.#sent };
      const page = await readEvents(this.#options.database, { ...request, maxBytes: MAX_BYTES });
      if (this.#cursor < page.oldestSeq - 1) {
        // The events between are no longer retained.
        this.#cursor = page.oldestSeq - 1;
        continue;
      }
      const isDue = await this.#send(page.events, page);
      if (isDue !== undefined) return isDue;
    }
  }

  /** Sends the events of a page. Returns undefined if the turn goes on, otherwise if the endpoint is due again. */
  async #send(
    events: readonly LogEvent[],
    { examinedSeq, newestSeq }: { examinedSeq: number; newestSeq: number },
  ): Promise<boolean | undefined> {
    const isEnd = examinedSeq >= newestSeq;
    if (events.length === 0) return this.#settle(examinedSeq, undefined, isEnd || this.#isOver);
    const last = events.at(-1);
    for (const event of events) {
      const attempted = await this.#attempt(event);
      if (!attempted) return false;
      const isLast = event === last;
      const isReleased = !attempted.isSuccess || this.#isOver || (isLast && isEnd);
      const isDue = await this.#settle(isLast ? examinedSeq : event.seq, attempted, isReleased);
      if (isDue !== undefined) return isDue;
    }
    return undefined;
  }

  /** Sends one event. Returns undefined if the turn has ended without storing an outcome. */
  async #attempt(event: LogEvent): Promise<Attempted | undefined> {
    const { attempts, disableGone, database } = this.#options;
    const recipient = this.#endpoint;
    const attempted = await attempts.make({ recipient, event, attempts: 0, becameSlow: this.#becameSlow });
    this.#sent++;
    if (!attempted) await postponeTurn(database, recipient, POSTPONE_SECONDS);
    if (!attempted?.isGone) return attempted;
    await disableGone(recipient, attempted);
    return undefined;
  }

  async #settle(cursorSeq: number, outcome: Attempted | undefined, isReleased: boolean): Promise<boolean | undefined> {
    this.#cursor = cursorSeq;
    const { database } = this.#options;
    const settled = await settleTurn(database, { endpoint: this.#endpoint, cursorSeq, outcome, isReleased });
    // Without the lease another process goes on, or the endpoint was changed.
    if (!settled) return false;
    return isReleased ? settled.isDue : undefined;
  }

  get #isOver(): boolean {
    return this.#sent >= MAX_EVENTS || performance.now() > this.#until || this.#options.isStopping();
  }
}
