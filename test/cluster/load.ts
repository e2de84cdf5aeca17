import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Namespace } from './kubectl.ts';
import type { Images } from './lab.ts';

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

  static async create(namespace: Namespace, images: Images, gateway: string): Promise<Load> {
    const program = readFileSync(join(import.meta.dirname, 'load-pod.ts'), 'utf8');
    const keys = JSON.stringify(await makeKeys(namespace));
    await namespace.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'load' },
      data: { 'load.ts': program },
    });
    await namespace.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'load' },
      stringData: { 'keys.json': keys },
    });
    await namespace.apply({ apiVersion: 'v1', kind: 'Pod', ...podOf(images, gateway) });
    await namespace.kubectl('wait', '--for=condition=Ready', 'pod/load', '--timeout=180s');
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

function podOf({ repository, tag, pullPolicy }: Images, gateway: string) {
  const securityContext = {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  };
  return {
    metadata: { name: 'load', labels: { app: 'load' } },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 5,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'load',
          image: `${repository}:${tag}`,
          imagePullPolicy: pullPolicy,
          args: ['/load/load.ts'],
          env: [{ name: 'BASE', value: gateway }],
          readinessProbe: { httpGet: { path: '/', port: 7000 }, periodSeconds: 1 },
          // Without a CPU request a busy node would starve it first.
          resources: { requests: { cpu: '500m', memory: '128Mi' }, limits: { memory: '512Mi' } },
          securityContext,
          volumeMounts: [
            { name: 'load', mountPath: '/load' },
            { name: 'keys', mountPath: '/keys' },
          ],
        },
      ],
      volumes: [
        { name: 'load', configMap: { name: 'load' } },
        { name: 'keys', secret: { secretName: 'load' } },
      ],
    },
  };
}
