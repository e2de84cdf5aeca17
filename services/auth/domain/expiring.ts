import type { Clock } from '#kit/clock.ts';
import type { EventSweep } from '#kit/events/sweeper.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { KeyEvents } from '../events.ts';
import { claimExpiring } from '../store/expiring.ts';
import type { AuthTelemetry } from '../telemetry.ts';

/** How long before its expiry, in milliseconds, an API key is reported. */
const NOTICE_MS = 7 * 24 * 3600_000;
/** The maximum number of API keys that one transaction reports. */
const BATCH = 100;

export interface ExpiringKeysOptions {
  database: Database;
  clock: Clock;
  events: KeyEvents;
  telemetry: AuthTelemetry;
}

/** Returns the sweep that reports API keys seven days before they expire, once for each expiry. */
export function expiringKeysSweep({ database, clock, events, telemetry }: ExpiringKeysOptions): EventSweep {
  return {
    name: 'expiring keys',
    sweep: async () => {
      const keys = await database.transaction(async (transaction) => {
        const now = clock.now();
        const claimed = await claimExpiring(transaction, new Date(now), new Date(now + NOTICE_MS), BATCH);
        await events.record(transaction, claimed.map(events.expiring));
        return claimed;
      });
      if (keys.length > 0) telemetry.keysExpiring(keys);
      return keys.length === BATCH;
    },
  };
}
