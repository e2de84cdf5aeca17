import type { Clock } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres.ts';
import type { ActivityEvents } from '../events.ts';
import type { LeasedCommand } from '../store/commands.ts';
import { type Asked, giveBack, leaseCommands } from '../store/leases.ts';

/** A command that was handed over is handed over again after this, unless it was acknowledged. */
const LEASE_MS = 30_000;

/** Names a server among those of all guilds; neither ID holds a space. */
export const serverKey = ({ guildId, serverId }: { guildId: string; serverId: string }) => `${guildId} ${serverId}`;

/** Hands commands over. */
export class Leases {
  readonly #database: Queryable;
  readonly #clock: Clock;
  readonly #events: Pick<ActivityEvents, 'commandHandedOver'>;

  constructor(database: Queryable, clock: Clock, events: Pick<ActivityEvents, 'commandHandedOver'>) {
    this.#database = database;
    this.#clock = clock;
    this.#events = events;
  }

  /** The commands that each server (none twice) is to get now, the oldest first, by `serverKey`. */
  async take(asked: readonly Asked[]): Promise<Map<string, LeasedCommand[]>> {
    const now = this.#clock.now();
    const commands = await leaseCommands(this.#database, asked, new Date(now), new Date(now + LEASE_MS));
    for (const { attempt } of commands) this.#events.commandHandedOver(attempt);
    return Map.groupBy(commands, serverKey);
  }

  /** Commands that nobody was there to take: they can be handed over at once, as if they had not been. */
  giveBack(commands: readonly LeasedCommand[]): Promise<void> {
    return giveBack(this.#database, commands);
  }
}
