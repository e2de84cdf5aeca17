import type { Namespace } from './kubectl.ts';
import type { Images } from './lab.ts';
import { startProgram } from './program-pod.ts';

export type LoadResult = {
  rate: number;
  seconds: number;
  sent: number;
  ok: number;
  failed: Record<string, number>;
  examples: string[];
  p50: number;
  p99: number;
  max: number;
};

/** Enough guilds that none reaches a rate limit at 200 requests per second. */
const GUILDS = Array.from({ length: 24 }, (_, index) => String(900_000_000_000_000_100n + BigInt(index)));

const MAKE_KEYS = `
import { execFileSync } from 'node:child_process';
const keys = JSON.parse(process.argv[1]).map((guild) => {
  const words = ['/app/guildctl.js', 'keys', 'create', '--guild', guild, '--all-scopes', '--name', 'load', '--json'];
  return { guild, key: JSON.parse(execFileSync(process.execPath, words, { encoding: 'utf8' })).key };
});
console.log(JSON.stringify(keys));`;

/** Keys of the load's guilds, created in the guildctl pod as operators do. */
export async function makeKeys(
  namespace: Namespace,
  guilds: readonly string[] = GUILDS,
): Promise<{ guild: string; key: string }[]> {
  const [pod = ''] = await namespace.pods('guildctl');
  return JSON.parse(await namespace.node(pod, MAKE_KEYS, JSON.stringify(guilds))) as { guild: string; key: string }[];
}

/** A pod that sends requests to the gateway from inside the cluster. */
export class Load {
  readonly #namespace: Namespace;

  private constructor(namespace: Namespace) {
    this.#namespace = namespace;
  }

  static async create(namespace: Namespace, images: Images, release: string): Promise<Load> {
    const files = { 'keys.json': JSON.stringify(await makeKeys(namespace)) };
    // Without a CPU request a busy node would starve it first.
    const env = { GATEWAY: `http://${release}-gateway`, CONSOLE: `http://${release}-console` };
    await startProgram(namespace, { name: 'load', images, port: 7000, cpu: '500m', env, files });
    return new Load(namespace);
  }

  /** Sends requests at a constant rate while `work` runs. */
  async during(rate: number, work: () => Promise<unknown>): Promise<LoadResult> {
    await this.#tell(`/start?rate=${rate}`);
    await work();
    return JSON.parse(await this.#tell('/stop')) as LoadResult;
  }

  #tell(path: string): Promise<string> {
    return this.#namespace.node('load', `console.log(await (await fetch('http://127.0.0.1:7000${path}')).text())`);
  }
}
