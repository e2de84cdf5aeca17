import { setTimeout as wait } from 'node:timers/promises';
import type { Network } from '../system/system.ts';

const GUILDS = Array.from({ length: 12 }, (_, index) => `9900000000000000${String(index + 10)}`);
const EVERY_MS = 1_000;

/**
 * What a system does all day: twelve guilds look players up, check bans and send heartbeats of their game servers, each
 * about once a second, and now and then a client makes a mistake.
 */
export class OrdinaryLoad {
  readonly #network: Network;
  readonly #keys: { guildId: string; secret: string }[] = [];
  readonly #stopped = new AbortController();
  #running: Promise<unknown> | undefined;
  /** False while no game server sends heartbeats. */
  sendsHeartbeats = true;
  /** The number of responses by status. */
  readonly statuses = new Map<number, number>();

  constructor(network: Network) {
    this.#network = network;
  }

  async start(): Promise<void> {
    for (const guildId of GUILDS) {
      const { secret } = await this.#network.createKey({ guildId });
      this.#keys.push({ guildId, secret });
    }
    this.#running = Promise.all(this.#keys.map((key, index) => this.#run(key, index)));
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run({ guildId, secret }: { guildId: string; secret: string }, index: number): Promise<void> {
    await this.#pause((EVERY_MS * index) / GUILDS.length);
    for (let round = 0; !this.#stopped.signal.aborted; round++) {
      const calls = [this.#call(`/moderation/${guildId}/ban-status/7001`, secret)];
      if (round % 2 === 0) calls.push(this.#call(`/lookup/chat/92000000000000000${round % 9}`, secret, guildId));
      if (round % 30 === 0) calls.push(this.#call('/whoami', `${secret}x`));
      if (this.sendsHeartbeats) calls.push(this.#heartbeat(guildId, secret));
      await Promise.all([...calls, this.#pause(EVERY_MS)]);
    }
  }

  #heartbeat(guildId: string, key: string): Promise<void> {
    const body = { guild_id: guildId, server_id: 'one', place_id: 40001, player_count: 1, max_players: 2 };
    return this.#call('/game/servers/heartbeat', key, guildId, body);
  }

  async #call(path: string, key: string, guildId?: string, body?: object): Promise<void> {
    const response = await fetch(this.#network.api + path, {
      method: body ? 'POST' : 'GET',
      headers: {
        'x-api-key': key,
        ...(guildId !== undefined && { 'x-guild-id': guildId }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    }).catch(() => undefined);
    await response?.arrayBuffer().catch(() => undefined);
    const status = response?.status ?? 0;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  async #pause(milliseconds: number): Promise<void> {
    await wait(milliseconds, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
  }
}
