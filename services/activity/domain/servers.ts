import { type Clock, unixSeconds } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Ack, LeasedCommand } from '../store/commands.ts';
import { type Heartbeat, saveHeartbeats, serverKey } from '../store/servers.ts';
import type { ActivityEvents } from '../telemetry.ts';
import type { Admissions, Admitted } from './admissions.ts';
import { Batches } from './batches.ts';
import type { Commands } from './commands.ts';
import type { Leases } from './leases.ts';

/** What is in one answer, beside what a poll may ask for. */
const COMMANDS_WITH_HEARTBEAT = 20;
const MAX_IN_BATCH = 500;
const MAX_WAITING = 5_000;

export interface Beat {
  heartbeat: Heartbeat;
  acks: readonly Ack[];
}

export interface BeatAnswer {
  serverTime: number;
  intervalSeconds: number;
  commands: readonly LeasedCommand[];
}

export interface ServersOptions {
  database: Queryable;
  commands: Commands;
  leases: Leases;
  admissions: Admissions;
  clock: Clock;
  events: ActivityEvents;
  /** How long a heartbeat waits for others to be written with. */
  gatherMs: number;
}

/**
 * Heartbeats of game servers, written together. Those of live servers take at most three statements for all that arrive
 * within a moment. Those that make a server live or end it lock their guild, and so are written apart from the others:
 * a guild whose servers come and go delays no other.
 */
export class Servers {
  readonly #options: ServersOptions;
  readonly #live: Batches<Beat, BeatAnswer | undefined>;
  readonly #changing: Batches<Heartbeat, BeatAnswer | ApiError>;

  constructor(options: ServersOptions) {
    this.#options = options;
    const sizes = { gatherMs: options.gatherMs, mostInBatch: MAX_IN_BATCH, mostWaiting: MAX_WAITING };
    this.#live = new Batches({
      ...sizes,
      write: (beats) => this.#writeLive(beats),
      keyOf: ({ heartbeat }) => serverKey(heartbeat),
    });
    this.#changing = new Batches<Heartbeat, BeatAnswer | ApiError>({
      ...sizes,
      write: (beats) => this.#writeChanging(beats),
      keyOf: serverKey,
    });
  }

  /**
   * Resolves once the heartbeat and its acknowledgements are committed. QUOTA_EXCEEDED when it would make one server too
   * many live; its acknowledgements are kept then, too.
   */
  async beat(heartbeat: Omit<Heartbeat, 'receivedAt'>, acks: readonly Ack[]): Promise<BeatAnswer> {
    const received = { ...heartbeat, receivedAt: new Date(this.#options.clock.now()) };
    const answer = (await this.#live.add({ heartbeat: received, acks })) ?? (await this.#changing.add(received));
    if (answer instanceof ApiError) throw answer;
    return answer;
  }

  /** undefined for a server that is not live, and for one that ends. */
  async #writeLive(beats: readonly Beat[]): Promise<(BeatAnswer | undefined)[]> {
    const { database, commands, admissions } = this.#options;
    await commands.acknowledgeAll(beats.flatMap(({ acks }) => acks));
    const living = beats.map(({ heartbeat }) => heartbeat).filter(({ isFinal }) => !isFinal);
    if (living.length === 0) return beats.map(() => undefined);
    const saved = await saveHeartbeats(database, living);
    const due = saved.filter(({ isSweepDue }) => isSweepDue).map(({ guildId }) => guildId);
    admissions.sweepSoon([...new Set(due)]);
    const answers = await this.#answer(saved);
    return beats.map(({ heartbeat }) => answers.get(serverKey(heartbeat)));
  }

  async #writeChanging(heartbeats: readonly Heartbeat[]): Promise<(BeatAnswer | ApiError)[]> {
    const admitted = await this.#options.admissions.admit(heartbeats);
    const outcomes = heartbeats.map((heartbeat, index) => ({ heartbeat, ...(admitted[index] as Admitted) }));
    const living = outcomes.flatMap(({ heartbeat, intervalSeconds, isLate }) =>
      heartbeat.isFinal || isLate || intervalSeconds instanceof ApiError ? [] : [{ ...heartbeat, intervalSeconds }],
    );
    const answers = await this.#answer(living);
    return outcomes.map(({ heartbeat, intervalSeconds }) => {
      if (intervalSeconds instanceof ApiError) return intervalSeconds;
      return answers.get(serverKey(heartbeat)) ?? { ...this.#time(), intervalSeconds, commands: [] };
    });
  }

  /** By `serverKey`; what fails here delays commands until their lease ends. */
  async #answer(saved: readonly { guildId: string; serverId: string; intervalSeconds: number }[]) {
    const { leases, events } = this.#options;
    const wanted = saved.map((server) => ({ ...server, limit: COMMANDS_WITH_HEARTBEAT }));
    const leased = wanted.length > 0 ? await leases.take(wanted) : new Map<string, LeasedCommand[]>();
    if (saved.length > 0) events.heartbeatsSaved(saved.length);
    return new Map(
      saved.map((server): [string, BeatAnswer] => {
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
