import type { Json, JsonObject } from './chart.ts';
import { type Manifest, render } from './helm.ts';

/** A container as the chart renders it. */
export type Container = {
  name: string;
  image: string;
  env?: { name: string; value?: string; valueFrom?: JsonObject }[];
  envFrom?: JsonObject[];
  volumeMounts?: { name: string; mountPath: string }[];
  lifecycle?: JsonObject;
  resources: { requests: Record<string, string>; limits: Record<string, string> };
};

export type PodSpec = {
  containers: Container[];
  initContainers?: Container[];
  volumes?: JsonObject[];
  terminationGracePeriodSeconds?: number;
  [field: string]: unknown;
};

/** A pod, or the template of one, with the object that has it. */
export type PodTemplate = {
  owner: Manifest;
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  spec: PodSpec;
};

const COMPONENT = 'app.kubernetes.io/component';

/** The pods of these manifests by component. */
export function podTemplates(all: readonly Manifest[]): Map<string, PodTemplate> {
  const found = new Map<string, PodTemplate>();
  for (const owner of all) {
    const template = owner.kind === 'Pod' ? owner : owner['spec']?.template;
    if (template === undefined || !('spec' in template)) continue;
    const { metadata, spec } = template as PodTemplate;
    found.set(metadata.labels[COMPONENT] ?? '', { owner, metadata, spec });
  }
  return found;
}

/** The smallest values with every kind of pod: the services, guildctl, the migration, the test and the servers of evaluation. */
export const EVALUATION = { evaluation: { enabled: true } } satisfies Json;

/** The smallest values with servers of one's own. */
export const OWN_SERVERS = { secrets: { existingSecret: 'own' }, database: { host: 'db' } } satisfies Json;

/** The pods with these values in addition to the smallest ones of evaluation mode. */
export async function podsWith(values: JsonObject): Promise<Map<string, PodTemplate>> {
  return podTemplates(await render({ values: { ...EVALUATION, ...values } }));
}

/** The pod of one component; throws if there is none. */
export function podOf(pods: ReadonlyMap<string, PodTemplate>, component: string): PodTemplate {
  const found = pods.get(component);
  if (found === undefined) throw new Error(`no pod of ${component}`);
  return found;
}

/** The object of a kind whose name ends with `end`; undefined if there is none. */
export function objectOf(all: readonly Manifest[], kind: string, end: string): Manifest | undefined {
  return all.find((one) => one.kind === kind && one.metadata.name.endsWith(end));
}
