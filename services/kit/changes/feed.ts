import type { Queryable } from '../postgres/pool.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** What a process does with the changes of others. */
export interface ChangeHandlers {
  /** Called with the names that other processes, and this one, have announced, in no particular order. */
  onChanges: (names: readonly string[]) => void;
  /** Called when changes may have been missed: with each new connection, before `isReceiving` becomes true. */
  onMissed: () => void;
  /** Called when another process ended, which may not have announced its last change. */
  onPeerLost?: () => void;
}

/**
 * Announces changes to the other processes of a service, and receives theirs. A change is announced after its commit,
 * by a short name such as the ID of the guild, and read from the database by those whom it concerns.
 */
export interface ChangeFeed extends Part {
  /** Announces a change: immediately, or 50 ms after the previous announcement. The name must not contain a comma. */
  announce(name: string): void;
  /** True while it is proven that the changes that others announce arrive here. Otherwise nothing may be cached. */
  readonly isReceiving: boolean;
}

export interface ChangeFeedOptions extends ChangeHandlers {
  /** The name of the service. */
  name: string;
  /** The name of the channel; a service has one. */
  channel: string;
  database: Queryable;
  /** The URL of the database without a transaction pooler in between, because LISTEN belongs to a session. */
  databaseUrl: string;
  log: Logger;
  metrics: Metrics;
}

/** Exports whether a feed receives changes, and over what. Called once for each feed. */
export function exportReceiving(metrics: Metrics, channel: string, over: () => Record<string, boolean>): void {
  metrics.gauge(
    'change_feed_receiving',
    '1 while it is proven that changes by other processes arrive over Redis or the database, otherwise 0',
    ['channel', 'over'],
    (gauge) => {
      for (const [path, isReceiving] of Object.entries(over())) gauge.set({ channel, over: path }, isReceiving ? 1 : 0);
    },
  );
}
