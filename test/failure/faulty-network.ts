import { type SimulatorOptions } from '#local/simulators/main.ts';
import { loadWorld, World } from '#local/simulators/world.ts';
import { startTcpProxy, type TcpProxy } from '../network/tcp-proxy.ts';
import { type Network, type NetworkOptions, startNetwork } from '../system/system.ts';

export const PARTS = [
  'redis',
  'postgres',
  'listen',
  'auth',
  'lookup',
  'bindings',
  'moderation',
  'members',
  'activity',
  'chat',
  'game',
] as const;
/** `listen`: the connections on which PostgreSQL notifies; `postgres`: those and all others. */
export type Part = (typeof PARTS)[number];

/**
 * `down`: connections are refused. `slow`: they are accepted, but nothing responds while the fault lasts. `reset`: they
 * break in the middle of a response. `deaf`: open connections silently drop everything.
 */
export type Fault = 'down' | 'slow' | 'reset' | 'deaf';

/** A position within the first line of an HTTP response, a gRPC frame, or a PostgreSQL message. */
const RESET_AFTER_BYTES = 12;

/** The whole system, with a proxy between each component and its users. */
export class FaultyNetwork {
  readonly #proxies: { part: string; address: string; proxy: TcpProxy }[] = [];
  network!: Network;

  async start(options: NetworkOptions = {}): Promise<this> {
    this.network = await startNetwork({ ...options, through: (part, address) => this.#through(part, address) });
    return this;
  }

  async stop(): Promise<void> {
    await this.network?.stop();
    for (const { proxy } of this.#proxies) await proxy.close();
  }

  async inflict(part: Part, fault: Fault): Promise<void> {
    for (const proxy of this.#of(part)) {
      if (fault === 'down') await proxy.refuse();
      else if (fault === 'slow') proxy.hold();
      else if (fault === 'deaf') proxy.freeze();
      else proxy.resetAfter(RESET_AFTER_BYTES);
    }
  }

  /** The component is available again; dropped bytes stay lost. */
  async restore(part: Part, fault: Fault): Promise<void> {
    for (const proxy of this.#of(part)) {
      if (fault === 'down') await proxy.accept();
      else if (fault === 'slow') proxy.release();
      else if (fault === 'reset') proxy.resetAfter(null);
    }
  }

  #of(part: Part): TcpProxy[] {
    const names: string[] = part === 'postgres' ? ['postgres', 'listen'] : [part];
    return this.#proxies.filter((entry) => names.includes(entry.part)).map(({ proxy }) => proxy);
  }

  async #through(part: string, address: string): Promise<string> {
    const known = this.#proxies.find((entry) => entry.part === part && entry.address === address);
    const proxy = known?.proxy ?? (await startTcpProxy(Number(address.split(':').at(-1))));
    if (!known) this.#proxies.push({ part, address, proxy });
    return `127.0.0.1:${proxy.port}`;
  }
}

/** The demo world with several guilds that differ only in their IDs. */
export function worldOf(guildIds: readonly string[]): SimulatorOptions {
  const { data } = loadWorld(undefined);
  const [guild] = data.chat.guilds;
  const guilds = guildIds.map((id) => ({ ...structuredClone(guild), id }));
  return { world: new World({ ...data, chat: { ...data.chat, guilds } }), limitScale: 1000 };
}
