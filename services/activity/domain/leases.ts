import type { Queryable } from '#kit/postgres/pool.ts';
import type { LeasedCommand } from '../store/commands.ts';
import { type FetchRequest, leaseCommands, releaseCommands } from '../store/leases.ts';
import { serverKey } from '../store/servers.ts';
import type { ActivityTelemetry } from '../telemetry.ts';

/**
 * The lease of a command that a poll fetched: after this time the command is handed over again, unless acknowledged.
 */
const LEASE_MS = 30_000;

export interface LeaseRequest extends FetchRequest {
  /**
   * The heartbeat interval; undefined for polls. A server acknowledges commands from the response to a heartbeat with
   * its next heartbeat, so the lease must be longer than the interval.
   */
  intervalSeconds?: number;
}

/** Leases commands to game servers, and releases these leases. */
export class Leases {
  readonly #database: Queryable;
  readonly #telemetry: Pick<ActivityTelemetry, 'commandHandedOver'>;

  constructor(database: Queryable, telemetry: Pick<ActivityTelemetry, 'commandHandedOver'>) {
    this.#database = database;
    this.#telemetry = telemetry;
  }

  /**
   * Leases the next commands of each server, the oldest first, and returns them by `serverKey`. A server may occur only
   * once.
   */
  async lease(requests: readonly LeaseRequest[]): Promise<Map<string, LeasedCommand[]>> {
    const commands = await leaseCommands(
      this.#database,
      requests.map((request) => ({ ...request, leaseMs: leaseMs(request) })),
    );
    for (const { attempt } of commands) this.#telemetry.commandHandedOver(attempt);
    return Map.groupBy(commands, serverKey);
  }

  /**
   * Releases the leases of commands that could not be handed over, so that the next poll receives the commands
   * immediately.
   */
  release(commands: readonly LeasedCommand[]): Promise<void> {
    return releaseCommands(this.#database, commands);
  }
}

/** Returns the lease duration: twice the heartbeat interval for a heartbeat, but at least the lease of a poll. */
const leaseMs = ({ intervalSeconds = 0 }: LeaseRequest) => Math.max(LEASE_MS, 2_000 * intervalSeconds);
