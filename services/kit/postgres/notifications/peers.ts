import { performance } from 'node:perf_hooks';
import type { Client } from 'pg';
import { within } from '../../resilience/deadline.ts';
import { PROBE_TIMEOUT_MS } from './probe.ts';

/** How old, in milliseconds, what is known of the other processes may be. */
const MAX_AGE_MS = 7_000;
/**
 * The time in milliseconds after which every process knows that another one needs database notifications, or sends them
 * because its knowledge is too old.
 */
export const PEERS_KNOW_MS = MAX_AGE_MS + 1_000;

/** The name in pg_stat_activity of a session of a process that receives changes over Redis. */
export const overRedis = (name: string) => `${name} over Redis`;

/** Reads all other sessions of listeners with the same name in the same database. */
const PEERS = {
  name: 'listening-peers',
  text: `SELECT pid || ' ' || backend_start AS peer, application_name AS name FROM pg_stat_activity
    WHERE datid = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND application_name IN ($1, $2) AND pid <> pg_backend_pid()`,
};

/**
 * Watches the sessions of other listening processes in pg_stat_activity, where PostgreSQL removes a dead process
 * immediately. Their names say whether these processes receive changes over Redis or need database notifications.
 */
export class ListeningPeers {
  readonly #client: Client;
  readonly #name: string;
  #known: ReadonlySet<string> = new Set();
  #wereLostBefore = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #needNotifications = false;
  #useRedis = false;

  constructor(client: Client, name: string) {
    this.#client = client;
    this.#name = name;
  }

  /** True unless it is certain that all other processes receive changes over Redis. */
  get mayNeedNotifications(): boolean {
    return this.#needNotifications || performance.now() - this.#readAt > MAX_AGE_MS;
  }

  /** True if other processes received changes over Redis at the last look, and may not have sent notifications. */
  get useRedis(): boolean {
    return this.#useRedis;
  }

  /**
   * Reads the other sessions. Returns true if one disappeared since the last call or the call before: the last commit of
   * its process may still have been in progress.
   */
  async wereLost(): Promise<boolean> {
    const readAt = performance.now();
    const values = [this.#name, overRedis(this.#name)];
    const { rows } = await within(
      PROBE_TIMEOUT_MS,
      this.#client.query<{ peer: string; name: string }>({ ...PEERS, values }),
    );
    const now = new Set(rows.map(({ peer }) => peer));
    const areLost = [...this.#known].some((peer) => !now.has(peer));
    const result = areLost || this.#wereLostBefore;
    this.#known = now;
    this.#wereLostBefore = areLost;
    this.#readAt = readAt;
    this.#needNotifications = rows.some(({ name }) => name === this.#name);
    this.#useRedis = rows.some(({ name }) => name !== this.#name);
    return result;
  }
}
