import type { Queryable } from '#kit/postgres/pool.ts';
import type { LeasedCommand } from '../store/commands.ts';
import { type FetchRequest, leaseCommands, releaseCommands } from '../store/leases.ts';
import { serverKey } from '../store/servers.ts';
import type { ActivityTelemetry } from '../telemetry.ts';

/** After this time a command that a poll fetched is handed over again, unless it was acknowledged. */
const LEASE_MS = 30_000;

export interface LeaseRequest extends FetchRequest {
  /** Set for a heartbeat: the commands are acknowledged by the server's next heartbeat, after this interval. */
  intervalSeconds?: number;
}

/** Leases commands to servers, and releases them. */
export class Leases {
  readonly #database: Queryable;
  readonly #telemetry: Pick<ActivityTelemetry, 'commandHandedOver'>;

  constructor(database: Queryable, telemetry: Pick<ActivityTelemetry, 'commandHandedOver'>) {
    this.#database = database;
    this.#telemetry = telemetry;
  }

  /** Leases the commands that each server is to get now, the oldest first, by `serverKey`. A server may occur once. */
  async lease(requests: readonly LeaseRequest[]): Promise<Map<string, LeasedCommand[]>> {
    const commands = await leaseCommands(
      this.#database,
      requests.map((request) => ({ ...request, leaseMs: leaseMs(request) })),
    );
    for (const { attempt } of commands) this.#telemetry.commandHandedOver(attempt);
    return Map.groupBy(commands, serverKey);
  }

  /** Releases commands that could not be handed over, so that the next poll gets them immediately. */
  release(commands: readonly LeasedCommand[]): Promise<void> {
    return releaseCommands(this.#database, commands);
  }
}

/** Twice the interval for a heartbeat, but at least as long as for a poll. */
const leaseMs = ({ intervalSeconds = 0 }: LeaseRequest) => Math.max(LEASE_MS, 2_000 * intervalSeconds);
