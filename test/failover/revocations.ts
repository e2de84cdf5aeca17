import { setTimeout as wait } from 'node:timers/promises';
import { vi } from 'vitest';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import type { Deployment } from '../failure/deployment.ts';
import { scrape } from '../measure/metrics.ts';
import { PATIENCE } from '../patience.ts';
import { databaseRows } from '../postgres/database.ts';
import { GUILDS } from './steady-writer.ts';

const PROBE_EVERY_MS = 100;
const PATH = '/lookup/chat/930000000001000000';
const WAIT = { ...PATIENCE, timeout: 90_000 };

interface TestKey {
  id: string;
  secret: string;
}

/** Creates keys that every gateway knows, revokes them, and observes since when each gateway rejects them. */
export class Revocations {
  readonly #deployment: Deployment;
  readonly #revoked: TestKey[] = [];
  #created = 0;

  constructor(deployment: Deployment) {
    this.#deployment = deployment;
  }

  /** Creates a key, which every gateway then has in memory. */
  async create(): Promise<TestKey> {
    const guildId = GUILDS[this.#created++ % GUILDS.length] as string;
    const request = {
      guildId,
      name: 'revoked',
      legacy: false,
      scopes: ['lookup:read'],
      ipAllowlist: [],
      actor: 'test',
    };
    const { key, secret } = await this.#deployment.operate('auth', KeyAdminServiceService, (client) =>
      client.createKey(request),
    );
    const created = { id: key?.id ?? '', secret };
    for (const gateway of this.#gateways) await vi.waitUntil(() => gateway.accepts(created), WAIT);
    return created;
  }

  /** Revokes a key, with repeats, and returns when that was acknowledged. */
  async revoke(key: TestKey): Promise<number> {
    const request = { keyId: key.id, actor: 'test' };
    await this.#deployment.operate('auth', KeyAdminServiceService, (client) => client.revokeKey(request));
    this.#revoked.push(key);
    return performance.now();
  }

  /** Waits until every gateway rejects a key, and returns when the last one did for the first time. */
  async untilRejected(key: TestKey): Promise<number> {
    const times = this.#gateways.map(async (gateway) => {
      while (await gateway.accepts(key)) await wait(PROBE_EVERY_MS);
      return performance.now();
    });
    return Math.max(...(await Promise.all(times)));
  }

  /** Waits until every gateway has proof that it receives changes of keys. */
  async untilProven(): Promise<void> {
    for (const gateway of this.#gateways) await vi.waitUntil(() => gateway.isProven(), WAIT);
  }

  /** The number of keys that were revoked. */
  get count(): number {
    return this.#revoked.length;
  }

  /** The keys that were revoked, and are valid in the database or accepted by a gateway all the same. */
  async stillValid(url: string): Promise<string[]> {
    const ids = this.#revoked.map(({ id }) => id);
    const valid = `SELECT guild_id || '-' || number AS id FROM auth.keys
      WHERE guild_id || '-' || number = ANY($1) AND revoked_at IS NULL`;
    const stored = await databaseRows<{ id: string }>(url, valid, [ids]);
    const accepted: string[] = [];
    for (const gateway of this.#gateways) {
      for (const key of this.#revoked) if (await gateway.accepts(key)) accepted.push(key.id);
    }
    return [...stored.map(({ id }) => id), ...accepted];
  }

  get #gateways(): Gateway[] {
    return this.#deployment.replicasOf('gateway').map(({ ports }) => new Gateway(ports.public ?? 0, ports.admin));
  }
}

/** One gateway, without a load balancer. */
class Gateway {
  readonly #port: number;
  readonly #admin: number;

  constructor(port: number, admin: number) {
    this.#port = port;
    this.#admin = admin;
  }

  /**
   * False if the key is rejected. Any other response, such as 503, is no rejection. After 30 rejections in a minute this
   * address gets 429 instead, and waits.
   */
  async accepts({ secret }: TestKey): Promise<boolean> {
    for (;;) {
      const response = await fetch(`http://127.0.0.1:${this.#port}/api/v1${PATH}`, {
        headers: { 'x-api-key': secret },
      });
      const body = (await response.json()) as { details?: { category?: string } };
      if (body.details?.category !== 'authentication') return response.status !== 401;
      await wait(1_000 * Number(response.headers.get('retry-after')));
    }
  }

  async isProven(): Promise<boolean> {
    const metrics = await scrape({ addresses: { admin: `127.0.0.1:${this.#admin}` } });
    return metrics('gateway_key_stream_alive') === 1;
  }
}
