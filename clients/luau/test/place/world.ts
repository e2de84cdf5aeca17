import { join } from 'node:path';
import { GAME_SCOPES } from '#proto/rest/scopes.ts';
import { GUILD, type Network, startNetwork } from '#test/system/system.ts';
import { RealClock } from '../engine/clock.ts';
import { createEngine, type Engine, Universe } from '../engine/engine.ts';
import { type ModuleTree, readModules } from '../engine/modules.ts';

const SOURCE = join(import.meta.dirname, '../../src');

/** What a game server keeps of the commands that it ran. */
const PLUGIN = `
  local GuildData = require(game:GetService("ServerScriptService").GuildData)
  local guild = GuildData.new({ guildId = "${GUILD}", baseUrl = "BASE_URL" })
  _G.guild = guild
  guild:onCommand("custom", function(command)
    print("ran " .. command.command_id)
    if command.payload.hang == game.JobId then task.wait(3600) end
    return true
  end)
  guild:start()`;

/** A game of several servers, against the real gateway and services. */
export class World {
  readonly network: Network;
  readonly universe = new Universe({ clock: new RealClock() });
  readonly engines: Engine[] = [];
  readonly #modules: ModuleTree;
  /** The key of the game servers, with the scopes of a game. */
  readonly #gameKey: string;
  /** The key of the guild's own systems. */
  readonly #key: string;

  private constructor(network: Network, keys: { game: string; own: string }, modules: ModuleTree) {
    this.network = network;
    this.#gameKey = keys.game;
    this.#key = keys.own;
    this.#modules = modules;
  }

  static async start(): Promise<World> {
    const network = await startNetwork();
    const game = (await network.createKey({ scopes: [...GAME_SCOPES] })).secret;
    const own = (await network.createKey()).secret;
    return new World(network, { game, own }, await readModules(SOURCE, 'GuildData'));
  }

  get baseUrl(): string {
    return `http://${this.network.address('gateway', 'http')}`;
  }

  /** Starts a game server with this script. */
  async server(script = PLUGIN): Promise<Engine> {
    const engine = await createEngine({
      universe: this.universe,
      modules: [this.#modules],
      secrets: { guild_data_key: { value: this.#gameKey, domain: '127.0.0.1' } },
    });
    this.engines.push(engine);
    await engine.run(script.replace('BASE_URL', this.baseUrl));
    return engine;
  }

  /** A call of the guild's own systems; a rejected call is an error. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests inspect any response
  async call(method: string, path: string, body?: unknown): Promise<any> {
    const { status, json } = await this.network.call(path, { method, key: this.#key, body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
    return json.data;
  }

  async sendCommand(command: object): Promise<string> {
    return (await this.call('POST', `/guilds/${GUILD}/commands`, command)).command_id;
  }

  /** The state of a command on each server that receives it. */
  async states(commandId: string): Promise<Map<string, string>> {
    const data = await this.call('GET', `/guilds/${GUILD}/commands/${commandId}`);
    const servers = data.servers as { server_id: string; state: string }[];
    return new Map(servers.map(({ server_id, state }) => [server_id, state]));
  }

  async ban(gameId: number): Promise<void> {
    await this.call('POST', `/moderation/${GUILD}/game/ban`, { game_id: gameId, reason: 'spam' });
  }

  async stop(): Promise<void> {
    for (const engine of this.engines) await engine.crash();
    await this.network.stop();
  }
}

/** How often a server ran each command. */
export function runsOf(engine: Engine): Map<string, number> {
  const runs = new Map<string, number>();
  for (const { text } of engine.output) {
    const [, id] = /^ran (\S+)$/.exec(text) ?? [];
    if (id !== undefined) runs.set(id, (runs.get(id) ?? 0) + 1);
  }
  return runs;
}

/** True once a heartbeat was accepted that a server sent since then, in Unix milliseconds. */
export function isLive(engine: Engine, since = 0): boolean {
  return engine.requests.some(({ at, url, status }) => at >= since && url.endsWith('/heartbeat') && status === 200);
}

/** True while a poll of a server waits at the gateway. */
export function isPolling(engine: Engine): boolean {
  return engine.requests.some(({ url, finishedAt }) => url.includes('/commands?') && finishedAt === undefined);
}
