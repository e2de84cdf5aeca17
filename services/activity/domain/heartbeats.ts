import { type Clock, unixSeconds } from '#kit/clock.ts';
import { SharedSlots } from '#kit/downstream/slots.ts';
import { ApiError } from '#kit/errors.ts';
import { currentEventSource } from '#kit/events/source.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Ack, LeasedCommand } from '../store/commands.ts';
import { type Heartbeat, saveHeartbeats, serverKey } from '../store/servers.ts';
import type { ActivityTelemetry } from '../telemetry.ts';
import type { AdmissionResult, Admissions, ChangingHeartbeat } from './admissions.ts';
import { BatchWriter } from './batch-writer.ts';
import type { Commands } from './commands.ts';
import type { Leases } from './leases.ts';

/** The maximum number of commands that the response to a heartbeat contains. */
const MAX_COMMANDS = 20;
const MAX_BATCH_SIZE = 500;
const MAX_WAITING = 5_000;
/**
 * The maximum number of postponed heartbeats, of all guilds and of one guild. They never fill the queue, so that servers
 * of other guilds can start, return and end.
 */
const MAX_POSTPONED = MAX_WAITING / 2;
export const MAX_POSTPONED_OF_GUILD = 500;
/**
 * How long, in milliseconds since its receipt, a postponed heartbeat waits for a batch: less than the gateway waits for
 * the response.
 */
export const MAX_POSTPONED_MS = 6_000;
/** The seconds after which a server whose heartbeat was not written sends it again. */
const RETRY_SECONDS = 5;

export interface HeartbeatWithAcks {
  heartbeat: Heartbeat;
  acks: readonly Ack[];
}

export interface HeartbeatResponse {
  /** The current time of the service, in Unix seconds. */
  serverTime: number;
  intervalSeconds: number;
  commands: readonly LeasedCommand[];
}

export interface HeartbeatsOptions {
  database: Queryable;
  commands: Commands;
  leases: Leases;
  admissions: Admissions;
  clock: Clock;
  telemetry: ActivityTelemetry;
  /** How long, in milliseconds, a heartbeat waits for others to be written in the same batch. */
  batchDelayMs: number;
}

/**
 * Writes the heartbeats of game servers in batches. A batch from live servers takes at most three statements.
 * Heartbeats that make a server live or end it lock the server's guild. They have batches of their own, so that a guild
 * whose servers start and end often does not delay the other guilds.
 */
export class Heartbeats {
  readonly #options: HeartbeatsOptions;
  readonly #live: BatchWriter<HeartbeatWithAcks, HeartbeatResponse | undefined>;
  readonly #changing: BatchWriter<ChangingHeartbeat, HeartbeatResponse | ApiError | undefined>;
  readonly #postponed = new SharedSlots<string>(MAX_POSTPONED, MAX_POSTPONED_OF_GUILD);

  constructor(options: HeartbeatsOptions) {
    this.#options = options;
    const limits = { delayMs: options.batchDelayMs, maxBatchSize: MAX_BATCH_SIZE, maxWaiting: MAX_WAITING };
    this.#live = new BatchWriter({
      ...limits,
      write: (heartbeats) => this.#writeLive(heartbeats),
      keyOf: ({ heartbeat }) => serverKey(heartbeat),
    });
    this.#changing = new BatchWriter<ChangingHeartbeat, HeartbeatResponse | ApiError | undefined>({
      ...limits,
      write: (heartbeats) => this.#writeChanging(heartbeats),
      keyOf: serverKey,
    });
  }

  /**
   * Stores a heartbeat and the acknowledgements in it; resolves when both are committed. Throws QUOTA_EXCEEDED if the
   * guild would have too many live servers, and UNAVAILABLE if too many of its servers return at the same time; the
   * acknowledgements are stored even then. `signal` is aborted if the client disconnects.
   */
  async receive(
    heartbeat: Omit<Heartbeat, 'receivedAt'>,
    acks: readonly Ack[],
    signal: AbortSignal,
  ): Promise<HeartbeatResponse> {
    const received = { ...heartbeat, receivedAt: new Date(this.#options.clock.now()) };
    // A batch holds heartbeats of several senders.
    const source = currentEventSource();
    const sent = acks.map((ack) => ({ ...ack, source }));
    const changing = { ...received, source };
    const result =
      (await this.#live.add({ heartbeat: received, acks: sent })) ??
      (await this.#changing.add(changing)) ??
      (await this.#changePostponed(changing, signal));
    if (result instanceof ApiError) throw result;
    return result;
  }

  /**
   * Adds a heartbeat that a batch has postponed to the next batches until one of them writes it. Gives up when nobody
   * waits for the response any more, because the server sends another heartbeat.
   */
  async #changePostponed(heartbeat: ChangingHeartbeat, signal: AbortSignal): Promise<HeartbeatResponse | ApiError> {
    const { guildId, receivedAt } = heartbeat;
    if (!this.#postponed.take(guildId)) return tooManyReturning();
    try {
      while (!signal.aborted && this.#options.clock.now() - receivedAt.getTime() < MAX_POSTPONED_MS) {
        const result = await this.#changing.add(heartbeat);
        if (result) return result;
      }
      return tooManyReturning();
    } finally {
      this.#postponed.release(guildId);
    }
  }

  /**
   * Writes heartbeats of live servers. The result is undefined for a server that is not live, and for a server that
   * ends.
   */
  async #writeLive(batch: readonly HeartbeatWithAcks[]): Promise<(HeartbeatResponse | undefined)[]> {
    const { database, commands } = this.#options;
    await commands.acknowledgeAll(batch.flatMap(({ acks }) => acks));
    const ongoing = batch.map(({ heartbeat }) => heartbeat).filter(({ isFinal }) => !isFinal);
    if (ongoing.length === 0) return batch.map(() => undefined);
    const saved = await saveHeartbeats(database, ongoing);
    const responses = await this.#respond(saved);
    return batch.map(({ heartbeat }) => responses.get(serverKey(heartbeat)));
  }

  /**
   * Writes heartbeats that make servers live or end them. The result is undefined for a heartbeat that a later batch must
   * write.
   */
  async #writeChanging(
    heartbeats: readonly ChangingHeartbeat[],
  ): Promise<(HeartbeatResponse | ApiError | undefined)[]> {
    const results = await this.#options.admissions.admit(heartbeats);
    const outcomes = heartbeats.map((heartbeat, index) => ({ heartbeat, ...(results[index] as AdmissionResult) }));
    const live = outcomes.flatMap(({ heartbeat, intervalSeconds, isLate, isPostponed }) =>
      heartbeat.isFinal || isLate || isPostponed || intervalSeconds instanceof ApiError
        ? []
        : [{ ...heartbeat, intervalSeconds }],
    );
    const responses = await this.#respond(live);
    return outcomes.map(({ heartbeat, intervalSeconds, isPostponed }) => {
      if (isPostponed) return undefined;
      if (intervalSeconds instanceof ApiError) return intervalSeconds;
      return responses.get(serverKey(heartbeat)) ?? { ...this.#time(), intervalSeconds, commands: [] };
    });
  }

  /**
   * Leases commands to the servers of a batch, and returns the responses to their heartbeats, by `serverKey`. If this
   * fails after the leases are stored, the commands are handed over again when the leases end.
   */
  async #respond(saved: readonly { guildId: string; serverId: string; intervalSeconds: number }[]) {
    const { leases, telemetry } = this.#options;
    const requests = saved.map((server) => ({ ...server, limit: MAX_COMMANDS }));
    const leased = requests.length > 0 ? await leases.lease(requests) : new Map<string, LeasedCommand[]>();
    if (saved.length > 0) telemetry.heartbeatsSaved(saved.length);
    return new Map(
      saved.map((server): [string, HeartbeatResponse] => {
        const key = serverKey(server);
        const { intervalSeconds } = server;
        return [key, { ...this.#time(), intervalSeconds, commands: leased.get(key) ?? [] }];
      }),
    );
  }

  #time() {
    return { serverTime: unixSeconds(this.#options.clock.now()) };
  }
}

function tooManyReturning(): ApiError {
  const message = 'Too many game servers with open commands return at the same time, try again soon';
  return new ApiError('UNAVAILABLE', { message, retryAfter: RETRY_SECONDS });
}
