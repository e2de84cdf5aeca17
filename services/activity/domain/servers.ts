import { type Clock, unixSeconds } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres.ts';
import type { ActivityEvents } from '../events.ts';
import type { Ack, LeasedCommand } from '../store/commands.ts';
import { type Heartbeat, saveHeartbeats } from '../store/servers.ts';
import { Batches } from './batches.ts';
import type { Commands } from './commands.ts';
import { type Leases, serverKey } from './leases.ts';

/** What is in one answer, beside what a poll may ask for. */
const COMMANDS_WITH_HEARTBEAT = 20;

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
  clock: Clock;
  events: ActivityEvents;
  /** How long a heartbeat waits for others to be written with. */
  gatherMs: number;
}

/** Game servers' signs of life. Written together: at most three statements for all that come within a moment. */
export class Servers {
  readonly #options: ServersOptions;
  readonly #batches: Batches<Beat, BeatAnswer>;

  constructor(options: ServersOptions) {
    this.#options = options;
    this.#batches = new Batches({
      write: (beats) => this.#write(beats),
      keyOf: ({ heartbeat }) => serverKey(heartbeat),
      gatherMs: options.gatherMs,
      mostInBatch: 500,
      mostWaiting: 5_000,
    });
  }

  /** Resolves once the heartbeat and its acknowledgements are committed. */
  beat(heartbeat: Heartbeat, acks: readonly Ack[]): Promise<BeatAnswer> {
    return this.#batches.add({ heartbeat, acks });
  }

  async #write(beats: readonly Beat[]): Promise<BeatAnswer[]> {
    const { database, commands, leases, clock, events } = this.#options;
    const now = clock.now();
    await commands.acknowledgeAll(beats.flatMap(({ acks }) => acks));
    const heartbeats = beats.map(({ heartbeat }) => heartbeat);
    const saved = await saveHeartbeats(database, heartbeats, new Date(now));
    const saidTo = new Map(saved.map((row) => [serverKey(row), row.intervalSeconds]));
    // Before commands are leased: what fails after that delays them until their lease ends.
    const intervals = heartbeats.map((heartbeat) => saidTo.get(serverKey(heartbeat)) ?? lost());
    const living = heartbeats.filter(({ isFinal }) => !isFinal);
    const leased = await leases.take(living.map((beat) => ({ ...beat, limit: COMMANDS_WITH_HEARTBEAT })));
    events.heartbeatsSaved(heartbeats.length);
    return heartbeats.map((heartbeat, index) => ({
      serverTime: unixSeconds(now),
      intervalSeconds: intervals[index] ?? lost(),
      commands: leased.get(serverKey(heartbeat)) ?? [],
    }));
  }
}

function lost(): never {
  throw new ApiError('INTERNAL', { cause: new Error('a heartbeat was lost') });
}
