import type { Queryable } from '#kit/postgres/pool.ts';
import type { LeasedCommand } from '../store/commands.ts';
import { type Asked, giveBack, leaseCommands } from '../store/leases.ts';
import { serverKey } from '../store/servers.ts';
import type { ActivityEvents } from '../telemetry.ts';

/** A command that a server polled is handed over again after this, unless it was acknowledged. */
const LEASE_MS = 30_000;

export interface Wanted extends Asked {
  /** The interval of a server that gets commands with a heartbeat's response: its next one acknowledges them. */
  intervalSeconds?: number;
}

/** Hands commands over. */
export class Leases {
  readonly #database: Queryable;
  readonly #events: Pick<ActivityEvents, 'commandHandedOver'>;

  constructor(database: Queryable, events: Pick<ActivityEvents, 'commandHandedOver'>) {
    this.#database = database;
    this.#events = events;
  }

  /** The commands that each server (none twice) is to get now, the oldest first, by `serverKey`. */
  async take(wanted: readonly Wanted[]): Promise<Map<string, LeasedCommand[]>> {
    const asked = wanted.map((server) => ({ ...server, leaseMs: leaseMs(server) }));
    const commands = await leaseCommands(this.#database, asked);
    for (const { attempt } of commands) this.#events.commandHandedOver(attempt);
    return Map.groupBy(commands, serverKey);
  }

  /** Commands that nobody was there to take: they can be handed over at once, as if they had not been. */
  giveBack(commands: readonly LeasedCommand[]): Promise<void> {
    return giveBack(this.#database, commands);
  }
}

/** Twice the interval for a heartbeat, and at least as long as for a poll. */
const leaseMs = ({ intervalSeconds = 0 }: Wanted) => Math.max(LEASE_MS, 2_000 * intervalSeconds);
