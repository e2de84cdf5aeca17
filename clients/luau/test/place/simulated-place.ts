import { join } from 'node:path';
import { GUILD } from '#test/system/system.ts';
import { VirtualClock } from '../engine/clock.ts';
import { createEngine, type Engine, Universe } from '../engine/engine.ts';
import { type ModuleTree, readModules } from '../engine/modules.ts';
import { SimulatedGateway } from './simulated-gateway.ts';

const SOURCE = join(import.meta.dirname, '../../src');

/** A plugin that uses everything: players are verified, every twentieth is staff, and commands are noted. */
const PLUGIN = `
  local GuildData = require(game:GetService("ServerScriptService").GuildData)
  local guild = GuildData.new({
    guildId = "${GUILD}", baseUrl = "https://api.example.com",
    loops = { staff = { isStaff = function(player) return player.UserId % 20 == 0 end } },
  })
  _G.guild = guild
  guild:onCommand("custom", function(command) print("ran " .. command.command_id) return true end)
  game:GetService("Players").PlayerAdded:Connect(function(player) guild:verify(player) end)
  guild:start()`;

/** A game of several servers in simulated time. */
export class SimulatedPlace {
  readonly clock = new VirtualClock();
  readonly universe = new Universe({ clock: this.clock });
  readonly gateway = new SimulatedGateway(this.clock);
  /** Servers that run, and those that have ended. */
  readonly servers = new Set<Engine>();
  readonly ended: Engine[] = [];
  #modules: Promise<ModuleTree> | undefined;

  get guild() {
    return this.gateway.guild;
  }

  get everyServer(): Engine[] {
    return [...this.servers, ...this.ended];
  }

  async start(): Promise<Engine> {
    this.#modules ??= readModules(SOURCE, 'GuildData');
    const engine = await createEngine({
      universe: this.universe,
      modules: [await this.#modules],
      secrets: { guild_data_key: { value: `service_${GUILD}_0123456789abcdefABCDEF`, domain: 'api.example.com' } },
      transport: this.gateway.transport,
    });
    this.servers.add(engine);
    await this.clock.until(engine.run(PLUGIN));
    return engine;
  }

  async close(engine: Engine): Promise<void> {
    await this.clock.until(engine.close());
    this.servers.delete(engine);
    this.ended.push(engine);
  }

  async crash(engine: Engine): Promise<void> {
    await engine.crash();
    this.servers.delete(engine);
    this.ended.push(engine);
  }

  /** Logs an action of a staff member; the result is its ID. */
  async logAction(engine: Engine): Promise<string> {
    const source = 'return (_G.guild:logAction({ actor = 20, target = 1, action_type = "warn", reason = "r" }))';
    return await this.clock.until(engine.run<string>(source));
  }

  async end(): Promise<void> {
    await Promise.all([...this.servers].map(async (engine) => await engine.crash()));
  }
}
