import { randomUUID } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { systemClock } from '#kit/clock.ts';
import { ConsoleAdminServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import { buildApp } from '#services/console/build.ts';
import { connect } from '../network/grpc.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';
import { startChromium } from './chromium.ts';
import { type Device, type Visit, visit } from './visit.ts';

/** A name that would change the page if it were not shown as text. */
export const HTML_NAME = '<img src=x>';
export const PLACE = 4001;
export const SERVERS = ['harbor-1', 'harbor-2'] as const;

/** The whole system with the console and some data, and a browser. */
export class ConsoleInBrowser {
  readonly #network: Network;
  readonly #browser: Browser;
  readonly #key: string;
  #signedIn: Awaited<ReturnType<Visit['signedIn']>> | undefined;

  constructor(network: Network, browser: Browser, key: string) {
    this.#network = network;
    this.#browser = browser;
    this.#key = key;
  }

  get origin(): string {
    return `http://${this.#network.address('console', 'http')}`;
  }

  /** The path of a page of the guild. */
  path(page: string): string {
    return `/guilds/${GUILD}/${page}`;
  }

  /** A window of a person who is not signed in. */
  stranger(device: Device): Promise<Visit> {
    return visit(this.#browser, this.origin, device);
  }

  /** A window of an owner of the guild, who signed in with a link. */
  async owner(device: Device): Promise<Visit> {
    this.#signedIn ??= await this.#signIn('owner');
    return visit(this.#browser, this.origin, device, this.#signedIn);
  }

  /** A window of a person with another role. */
  async person(role: string, device: Device): Promise<Visit> {
    return visit(this.#browser, this.origin, device, await this.#signIn(role));
  }

  /** The path and fragment of a one-time link. */
  async link(role: string): Promise<string> {
    const address = this.#network.address('auth', 'grpc');
    const { client, close } = connect(ConsoleAdminServiceService, 'auth', address, systemClock, [
      this.#network.secrets.admin,
    ]);
    try {
      const { url } = await client.createLink({ guildId: GUILD, role, actor: 'test' });
      const { pathname, hash } = new URL(url);
      return pathname + hash;
    } finally {
      close();
    }
  }

  /** Makes a request with the key of the guild, as its game does. */
  async call(method: string, path: string, body?: object) {
    const { status, json } = await this.#network.call(path, {
      method,
      key: this.#key,
      ...(method === 'GET' ? { headers: { 'x-guild-id': GUILD } } : { body: { guild_id: GUILD, ...body } }),
    });
    if (status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`);
    return json.data;
  }

  /** What game servers report: two servers with players, and a staff session with an action. */
  async addData(): Promise<void> {
    await this.reportServers();
    const link = { chat_id: '920000000000000001', game_id: 7001, game_username: 'AdaBuilds' };
    await this.call('POST', '/verification/link', link);
    const session = { game_id: 7002, server_id: SERVERS[0], place_id: PLACE, game_username: HTML_NAME };
    await this.call('POST', '/staff/game/session/start', session);
    const action = { action_type: 'warned', action_id: randomUUID(), target_game_id: 7003 };
    await this.call('POST', '/staff/game/action', { actor_game_id: 7002, ...action });
  }

  /** Heartbeats of both servers. */
  async reportServers(): Promise<void> {
    await Promise.all(SERVERS.map((serverId, index) => this.heartbeat(serverId, index)));
  }

  /** Reports a game server, and acknowledges commands if they are given. */
  heartbeat(serverId: string, index = 0, acks?: object[]): Promise<{ commands: { command_id: string }[] }> {
    const players = [{ game_id: 7002 + index, username: index === 0 ? HTML_NAME : 'ChiaraKnots' }];
    const numbers = { place_id: PLACE, player_count: players.length, max_players: 20, fps: 59.9, age_seconds: 4_000 };
    return this.call('POST', '/game/servers/heartbeat', { server_id: serverId, ...numbers, players, acks });
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    await this.#network.stop();
  }

  async #signIn(role: string): Promise<Awaited<ReturnType<Visit['signedIn']>>> {
    const window = await this.stranger('desktop');
    await window.open(await this.link(role));
    await window.page.getByRole('button', { name: 'Sign in' }).click();
    await window.page.waitForURL(/overview/);
    const signedIn = await window.signedIn();
    await window.close();
    return signedIn;
  }
}

/** Builds the app, and starts the system and the browser. */
export async function startConsoleInBrowser(chromium: string): Promise<ConsoleInBrowser> {
  await buildApp();
  const network = await startNetwork({ console: true });
  const { secret } = await network.createKey({ name: 'Game' });
  const console = new ConsoleInBrowser(network, await startChromium(chromium), secret);
  await console.addData();
  return console;
}
