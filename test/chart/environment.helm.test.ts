import { expect, test } from 'vitest';
import { DEPLOYABLES } from '#local/processes.ts';
import { isSetByTemplates, VARIABLES } from '../../deploy/chart/schema/variables.ts';
import { PORTS } from '../../deploy/chart-files.ts';
import { type JsonObject, VALUE_SETS, valueSet } from './chart.ts';
import { type Container, componentOf, containerOf, environmentOf, ofKind, readAs } from './environment.ts';
import { type Manifest, podsOf, render } from './helm.ts';

/** Variables that a process does not read itself: those of Node and pg, and the parts of DATABASE_URL. */
const READ_BY_LIBRARIES = ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'PGPASSWORD'];
const PARTS_OF_URL = ['DATABASE_HOST', 'DATABASE_NAME', 'DATABASE_PORT', 'DATABASE_USER'];
/** Variables that are read only to reject them: no process that serves requests may have them. */
const ROOTS = ['INTERNAL_SECRETS', 'ADMIN_SECRETS'];

const rendered = new Map<string, Promise<Manifest[]>>();
/** The objects of a value set; each set is rendered once. */
function objectsOf(set: string): Promise<Manifest[]> {
  const known = rendered.get(set) ?? render({ files: [valueSet(set)] });
  rendered.set(set, known);
  return known;
}

const processesIn = (all: readonly Manifest[]) =>
  DEPLOYABLES.filter(({ name }) => containerOf(all, name) !== undefined);

test.each(VALUE_SETS)(
  'with the values %s each process accepts its environment, and gets nothing that it does not read',
  async (set) => {
    const all = await objectsOf(set);
    expect(processesIn(all).length).toBeGreaterThanOrEqual(DEPLOYABLES.length - 1);
    for (const { name } of processesIn(all)) {
      const environment = environmentOf(containerOf(all, name) as Container);
      const config = readAs(name, environment);
      expect(config).toMatchObject({ ADMIN_PORT: PORTS.admin, ADMIN_HOST: '0.0.0.0' });
      const known = [...Object.keys(VARIABLES[name] ?? {}), ...READ_BY_LIBRARIES, ...PARTS_OF_URL];
      expect(Object.keys(environment).filter((variable) => !known.includes(variable))).toEqual([]);
    }
  },
);

test('the templates set each variable of each process that values may not set, with at least one set of values', async () => {
  const set = new Map(DEPLOYABLES.map(({ name }) => [name, new Set<string>()]));
  for (const values of VALUE_SETS) {
    const all = await objectsOf(values);
    for (const { name } of processesIn(all))
      for (const { name: variable } of (containerOf(all, name) as Container).env) set.get(name)?.add(variable);
  }
  const missing = DEPLOYABLES.flatMap(({ name }) =>
    Object.keys(VARIABLES[name] ?? {})
      .filter((variable) => isSetByTemplates(variable) && !ROOTS.includes(variable))
      .filter((variable) => !set.get(name)?.has(variable))
      .map((variable) => `${name} ${variable}`),
  );
  expect(missing).toEqual([]);
});

test.each(VALUE_SETS)(
  'with the values %s each process reaches the services that it calls, at ports on which they listen',
  async (set) => {
    const all = await objectsOf(set);
    for (const { name, calls, forwards } of processesIn(all)) {
      const environment = environmentOf(containerOf(all, name) as Container);
      const targets = [
        ...calls.map((peer) => ({ peer, at: environment[`${peer.toUpperCase()}_GRPC_ADDRESS`], as: 'grpc' })),
        ...forwards.map((peer) => ({ peer, at: environment[`${peer.toUpperCase()}_HTTP_URL`], as: 'http' })),
      ];
      for (const { peer, at = '', as } of targets) {
        const [, host, port] = /^(?:dns:\/\/\/|https?:\/\/)([^:/]+):(\d+)$/.exec(at) ?? [];
        const service = all.find(({ kind, metadata }) => kind === 'Service' && metadata.name === host);
        expect(service?.spec.selector).toMatchObject({ 'app.kubernetes.io/component': peer });
        const ports = service?.spec.ports as { name: string; port: number; targetPort: string }[];
        expect(ports).toContainEqual(expect.objectContaining({ name: as, port: Number(port), targetPort: as }));
        const own = containerOf(all, peer)?.ports;
        expect(own).toContainEqual({ name: as, containerPort: PORTS[as as 'grpc' | 'http'] });
        expect(readAs(peer, environmentOf(containerOf(all, peer) as Container))).toMatchObject({
          [`${as.toUpperCase()}_PORT`]: PORTS[as as 'grpc' | 'http'],
        });
      }
    }
  },
);

type Mounted = { volumes?: { name: string; secret?: { secretName: string }; configMap?: { name: string } }[] };

test.each(VALUE_SETS)('with the values %s each file that a process reads is in a volume of its pod', async (set) => {
  for (const one of ofKind(await objectsOf(set), 'Deployment')) {
    const [pod] = podsOf(one) as (JsonObject & Mounted)[];
    const volumes = (pod?.volumes ?? []).map(({ name }) => name);
    const containers = [
      ...((pod?.['initContainers'] ?? []) as JsonObject[]),
      ...((pod?.['containers'] ?? []) as JsonObject[]),
    ];
    for (const container of containers as (JsonObject & { volumeMounts?: { name: string; mountPath: string }[] })[]) {
      const mounts = container.volumeMounts ?? [];
      expect(mounts.filter(({ name }) => !volumes.includes(name))).toEqual([]);
      const files = JSON.stringify(container['env'] ?? []).matchAll(/\/etc\/guild-data\/[^"&?]+/g);
      for (const [file] of files)
        expect(mounts.filter(({ mountPath }) => file.startsWith(`${mountPath}/`))).toHaveLength(1);
    }
  }
});

test.each(VALUE_SETS)(
  'with the values %s each pod is started, restarted and sent requests by its admin port',
  async (set) => {
    for (const { name } of processesIn(await objectsOf(set))) {
      const container = containerOf(await objectsOf(set), name) as Container;
      expect(container).toMatchObject({
        startupProbe: { httpGet: { path: '/livez', port: 'admin' } },
        livenessProbe: { httpGet: { path: '/livez', port: 'admin' } },
        readinessProbe: { httpGet: { path: '/readyz', port: 'admin' } },
      });
      expect(container.ports).toContainEqual({ name: 'admin', containerPort: PORTS.admin });
    }
  },
);

test.each(VALUE_SETS)('with the values %s each Service has ports of the pods that it selects', async (set) => {
  const all = await objectsOf(set);
  const pods = all.flatMap((one) => podsOf(one).map((pod) => ({ labels: labelsOf(one), pod })));
  for (const { metadata, spec } of ofKind(all, 'Service')) {
    const selector = Object.entries(spec.selector as Record<string, string>);
    const chosen = pods.filter(({ labels }) => selector.every(([name, value]) => labels[name] === value));
    expect([metadata.name, chosen.length]).toEqual([metadata.name, 1]);
    const ports = ((chosen[0]?.pod['containers'] ?? []) as Container[]).flatMap((container) => container.ports ?? []);
    for (const { port, targetPort = port } of spec.ports as { port: number; targetPort?: string }[])
      expect(ports.flatMap(({ name, containerPort }) => [name, containerPort])).toContain(targetPort);
  }
});

/** The labels of the pods of a workload. */
function labelsOf({ kind, metadata, spec }: Manifest): Record<string, string> {
  return kind === 'Pod' ? (metadata.labels ?? {}) : (spec.template.metadata.labels as Record<string, string>);
}

test.each(VALUE_SETS)(
  'with the values %s every object has the labels of the release, and names are short and used once',
  async (set) => {
    const all = await objectsOf(set);
    const names = all.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    for (const one of all) {
      expect(one.metadata.name.length).toBeLessThanOrEqual(63);
      if (componentOf(one) === 'extra') continue;
      expect(one.metadata.labels).toMatchObject({
        'app.kubernetes.io/instance': 'guild',
        'app.kubernetes.io/part-of': 'guild-data',
      });
    }
  },
);

test.each([
  [0.05, '0.05'],
  ['0.05', '0.05'],
  [1, '1'],
  [0, '0'],
  [0.000_001, '0.000001'],
])('a ratio of %j is the variable %j', async (ratio, text) => {
  const values = { services: { gateway: { config: { ACCESS_LOG_SAMPLE_RATIO: ratio } } } };
  const environment = environmentOf(
    containerOf(await render({ files: [valueSet('production')], values }), 'gateway') as Container,
  );
  expect(environment['ACCESS_LOG_SAMPLE_RATIO']).toBe(text);
  expect(readAs('gateway', environment)).toMatchObject({ ACCESS_LOG_SAMPLE_RATIO: Number(text) });
});

test('with several database hosts, all processes follow the one that accepts writes, and may reach each', async () => {
  const database = { host: '', hosts: ['db-1.example', 'db-2.example:5433', '[::1]'], port: 6432 };
  const all = await render({ files: [valueSet('production')], values: { database } });
  const urls = JSON.stringify(all).match(/postgres:\/\/[^"]+/g) ?? [];
  expect(urls).not.toEqual([]);
  for (const url of urls) {
    expect(url).toContain('@db-1.example:6432,db-2.example:5433,[::1]:6432/');
    expect(url).toMatch(/\?sslmode=.*&target_session_attrs=read-write$/);
  }
  const policy = all.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-migrate'));
  const egress = (policy?.spec.egress ?? []) as { ports: { port: number }[] }[];
  expect(egress.flatMap((rule) => rule.ports).map(({ port }) => port)).toEqual([53, 53, 6432, 5433]);
});
