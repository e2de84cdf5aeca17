import type { EventSweep } from '#kit/events/sweeper.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { ModerationEvents } from '../events.ts';
import { claimExpiredEntries, claimExpiredPunishments } from '../store/expiries.ts';
import type { ModerationTelemetry } from '../telemetry.ts';

/** The maximum number of expiries that one transaction reports. */
const BATCH = 200;

export interface ExpiriesOptions {
  database: Database;
  events: ModerationEvents;
  telemetry: ModerationTelemetry;
}

/**
 * Returns the sweeps that report the expiry of bans and mutes, and of entries in guilds' own flagged lists. An expiry is
 * marked in the transaction that records its event, so that each is reported once, by any replica.
 */
export function expirySweeps({ database, events, telemetry }: ExpiriesOptions): EventSweep[] {
  return [
    {
      name: 'expired bans and mutes',
      sweep: async () => {
        const expired = await database.transaction(async (transaction) => {
          const claimed = await claimExpiredPunishments(transaction, BATCH);
          const reported = claimed.map((punishment) => events.expired(punishment.guildId, punishment));
          await events.record(transaction, reported);
          return claimed.length;
        });
        telemetry.expired('punishments', expired);
        return expired === BATCH;
      },
    },
    {
      name: 'expired flags',
      sweep: async () => {
        const expired = await database.transaction(async (transaction) => {
          const claimed = await claimExpiredEntries(transaction, BATCH);
          await events.record(
            transaction,
            claimed.map((entry) => events.shieldRemoved(entry)),
          );
          return claimed.length;
        });
        telemetry.expired('flags', expired);
        return expired === BATCH;
      },
    },
  ];
}
