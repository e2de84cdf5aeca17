import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { DEPLOYABLES } from '#local/processes.ts';
import { CHART } from '../../deploy/chart-files.ts';
import { type Json, type JsonObject, leaves, schemaAt, VALUE_SETS, valueSet, values } from './chart.ts';
import { helms, KUBERNETES, type Manifest, podsOf, render, runHelm } from './helm.ts';

const GOLDEN = join(CHART, 'golden');

/** Leaves out what differs each time (generated passwords) and what is tested elsewhere (rules, dashboards). */
function comparable(manifest: Manifest): Manifest {
  if (manifest.kind === 'Secret') {
    const secrets = Object.keys(manifest['data'] as JsonObject).map((name) => [name, '…']);
    return { ...manifest, data: Object.fromEntries(secrets) as JsonObject };
  }
  if (manifest.kind === 'PrometheusRule') return { ...manifest, spec: runbooksOf(manifest) };
  if (manifest.kind === 'ConfigMap') return { ...manifest, data: Object.keys(manifest['data'] as JsonObject) };
  return manifest;
}

/** The files with alerts. */
function runbooksOf({ spec }: Manifest): JsonObject {
  const urls = JSON.stringify(spec).matchAll(/"runbook_url":"([^"#]+)/g);
  return { runbooks: [...new Set([...urls].map(([, file = '']) => file))] };
}

const text = (all: readonly Manifest[]) => all.map((one) => stringify(comparable(one), { lineWidth: 0 })).join('---\n');

describe.each(VALUE_SETS)('with the values %s', (name) => {
  const files = [valueSet(name)];

  test.each(helms())('%s lint --strict finds nothing', async (helm) => {
    const words = ['lint', '--strict', '--quiet', CHART, ...files.flatMap((file) => ['--values', file])];
    expect((await runHelm(words, helm)).trim()).toBe('');
  });

  test('every Helm renders the same for every supported Kubernetes version', async () => {
    const expected = text(await render({ files }));
    for (const kubernetes of KUBERNETES) expect(text(await render({ files, kubernetes }))).toBe(expected);
    for (const helm of helms()) expect(text(await render({ files, helm }))).toBe(expected);
  });

  test('every pod meets the restricted standard, has limits, and no token', async () => {
    const pods = (await render({ files })).flatMap(podsOf);
    // The console is only there if it is enabled; besides, there are guildctl and the migrations.
    expect(pods.length).toBeGreaterThanOrEqual(DEPLOYABLES.length + 1);
    for (const pod of pods) {
      expect(pod['automountServiceAccountToken']).toBe(false);
      expect(pod['securityContext']).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      for (const container of [
        ...(pod['containers'] as JsonObject[]),
        ...((pod['initContainers'] ?? []) as JsonObject[]),
      ]) {
        expect(container['securityContext']).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container['resources']).toMatchObject({
          requests: { memory: expect.anything() },
          limits: { memory: expect.anything() },
        });
      }
    }
  });
});

/** Compares with a file of `golden`; UPDATE_GOLDEN=1 approves it. */
function expectApproved(file: string, rendered: string): void {
  const path = join(GOLDEN, file);
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(path, rendered);
  expect(rendered).toBe(readFileSync(path, 'utf8'));
}

test('the objects of each value set are those of the approved file', async () => {
  const sets = await Promise.all(
    VALUE_SETS.map(async (name) => [name, await render({ files: [valueSet(name)] })] as const),
  );
  const lines = sets.map(([name, all]) => [name, Object.fromEntries(namesByKind(all))] as const);
  expectApproved('objects.yaml', stringify(Object.fromEntries(lines), { lineWidth: 0, flowCollectionPadding: false }));
});

/** The names of the objects of each kind in one line, without the prefix that all of them have. */
function namesByKind(all: readonly Manifest[]): [string, string][] {
  const name = ({ metadata }: Manifest) =>
    metadata.name.replace(/^guild(?:-guild-data)?-?/, '…').replace(/-1-[0-9a-f]{8}$/, '-1-hash');
  return [...Map.groupBy(all, ({ kind }) => kind)].map(([kind, objects]) => [kind, objects.map(name).join(' ')]);
}

test('the Deployment of one service is that of the approved file', async () => {
  const all = await render({ files: [valueSet('production')] });
  expectApproved(
    'lookup.yaml',
    text(all.filter(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-lookup'))),
  );
});

type Container = { env: JsonObject[]; ports: { name: string; containerPort: number }[] };

/** Alternative values to try for a setting; the schema accepts at least one. */
function others(path: string[], value: Json): Json[] {
  const at = schemaAt(path) ?? {};
  if (Array.isArray(at['enum'])) return at['enum'];
  if (typeof value === 'boolean') return [!value, value];
  // A limit may not be below its request.
  const quantities: Record<string, Json> = { cpu: '77m', memory: path.at(-2) === 'limits' ? '7Gi' : '77Mi' };
  const own = OTHERS[path.join('.')] ?? (path.includes('resources') ? quantities[path.at(-1) ?? ''] : undefined);
  if (own !== undefined) return [own];
  if (typeof value === 'number') return [value + 1];
  if (typeof value === 'string') return ['https://other.example', 'other', '7', `sha256:${'a'.repeat(64)}`];
  if (Array.isArray(value))
    return [
      [{ podSelector: {} }],
      ['10.9.0.0/16'],
      [{ name: 'other' }],
      [{ name: 'other', image: 'other' }],
      [1234],
      ['other.example'],
      [{ host: 'other.example' }],
    ];
  return [{ other: 'other' }, { requests: { cpu: '7' } }, { LISTEN_HOST: '::' }, { replicas: 7 }];
}

/** Alternative values for settings that accept none of the usual ones. */
const OTHERS: Record<string, Json> = {
  'gateway.service.nodePort': 30_999,
  'platforms.chatApplicationPublicKey': '7'.repeat(64),
  'defaults.autoscaling.cpuPerPod': '77m',
  'tls.duration': '77h',
  'monitoring.serviceMonitor.interval': '77s',
  'defaults.tolerations': [{ key: 'other' }],
  'networkPolicy.platforms.to': [{ podSelector: {} }],
  'networkPolicy.webhooks.to': [{ podSelector: {} }],
  'networkPolicy.oidc.to': [{ podSelector: {} }],
  'console.service.nodePort': 30_998,
  'httpRoute.timeouts.requestSeconds': 77,
  'httpRoute.timeouts.backendRequestSeconds': 77,
  'console.httpRoute.timeouts.requestSeconds': 77,
  'console.httpRoute.timeouts.backendRequestSeconds': 77,
  'database.addressSecret.name': 'other',
  'database.credentials': { auth: { name: 'other' } },
  extraObjects: [{ kind: 'Other', metadata: { name: 'other' } }],
  'monitoring.rules.runbooksAt': 'https://other.example/',
  'evaluation.postgresql.storage.size': '7Gi',
  'defaults.strategy': { type: 'Recreate' },
  'defaults.autoscaling.behavior': { scaleDown: { selectPolicy: 'Min' } },
  'defaults.topologySpreadConstraints': [{ topologyKey: 'rack', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' }],
  'defaults.readinessGates': [{ conditionType: 'other' }],
  'defaults.envFrom': [{ secretRef: { name: 'other' } }],
  'defaults.extraVolumeMounts': [{ name: 'cache', mountPath: '/other' }],
  'tls.secrets': { gateway: 'other' },
  'tracing.sampleRatio': 0.5,
};

/** Values beside a setting that it requires, and that are rejected without it. */
const REQUIRED: Record<string, JsonObject> = {
  'tls.mode': { issuerRef: { name: 'other' } },
  'database.hosts': { host: '' },
};

/** Values that change nothing outside of a cluster, or only reject others: secrets.helm.test.ts, capacity.helm.test.ts. */
const WITHOUT_OUTPUT = ['restartOnSecretChange', 'database.maxConnections'];

test('every value changes the output for at least one value set', {
  timeout: 600_000,
}, async () => {
  const before: Before[] = [];
  for (const name of VALUE_SETS) before.push([[valueSet(name)], text(await render({ files: [valueSet(name)] }))]);
  // Rejected until evaluation.enabled is set.
  before.push([[], '']);
  const idle: string[] = [];
  for (const { path, value } of leaves(values).filter((one) => !WITHOUT_OUTPUT.includes(one.path.join('.')))) {
    if (!(await matters(path, value, before))) idle.push(path.join('.'));
  }
  expect(idle).toEqual([]);
});

/** The files of a value set, and its output. */
type Before = readonly [files: string[], output: string];

/** Moves the set with which the value mattered to the front of `before`, because the next value is probably in it too. */
async function matters(path: string[], value: Json, before: Before[]): Promise<boolean> {
  for (const other of others(path, value)) {
    const [last = '', ...outer] = path.toReversed();
    const object: Json = { ...REQUIRED[path.join('.')], [last]: other };
    const laid = outer.reduce<Json>((inner, name) => ({ [name]: inner }), object);
    for (const set of before) {
      const [files, unchanged] = set;
      const changed = await render({ files, values: laid }).then(text, String);
      // The schema rejects this value with every set. Any other rejection concerns the set, and proves nothing.
      if (changed.includes('specifications of the schema')) break;
      if (changed === unchanged || changed.startsWith('Error')) continue;
      before.sort((one, two) => Number(two === set) - Number(one === set));
      return true;
    }
  }
  return false;
}

test('the NetworkPolicies allow the configured ports of PostgreSQL and a pooler', async () => {
  const database = { port: 6432, direct: { host: 'postgresql.example', port: 5433 } };
  const all = await render({ files: [valueSet('production')], values: { database } });
  const policy = all.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-migrate'));
  const egress = (policy?.spec.egress ?? []) as { ports: { port: number }[] }[];
  const ports = egress.flatMap((rule) => rule.ports);
  expect(ports.map(({ port }) => port)).toEqual([53, 53, 6432, 5433]);
});

test('outside evaluation mode nothing is generated: rendering twice gives the same output', async () => {
  for (const name of VALUE_SETS.filter((one) => !one.startsWith('evaluation'))) {
    const [one, other] = [await render({ files: [valueSet(name)] }), await render({ files: [valueSet(name)] })];
    expect(other).toEqual(one);
    expect(one.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  }
});

test('two releases in one namespace have distinct selectors', async () => {
  const all = await render({ files: [valueSet('evaluation')] });
  for (const { kind, spec } of all) {
    const selector = (spec as { selector?: { matchLabels?: JsonObject } & JsonObject } | undefined)?.selector;
    if (kind === 'NetworkPolicy' || selector === undefined) continue;
    expect(selector.matchLabels ?? selector).toMatchObject({ 'app.kubernetes.io/instance': 'guild' });
  }
});

test('only the migration Job has the revision in its name: an upgrade without a change restarts nothing', () => {
  const folder = join(CHART, 'templates');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(?:yaml|tpl)$/.test(name),
  );
  const named = files.filter((name) => readFileSync(join(folder, name), 'utf8').includes('.Release.Revision'));
  expect(named).toEqual(['migrate.yaml']);
});

test('the container that waits for the schema uses the admin port of the service, so that Prometheus scrapes both', async () => {
  const values = { defaults: { config: { LISTEN_HOST: '::' } } };
  const pods = (await render({ files: [valueSet('production')], values })).flatMap(podsOf);
  const waiting = pods.filter((pod) => pod['initContainers'] !== undefined) as Record<string, Container[]>[];
  expect(waiting).toHaveLength(DEPLOYABLES.filter(({ holds }) => holds.includes('database')).length);
  for (const { initContainers: [first] = [], containers: [service] = [] } of waiting) {
    const port = service?.ports.find(({ name }) => name === 'admin')?.containerPort;
    expect(first?.env).toEqual(
      expect.arrayContaining([
        { name: 'ADMIN_PORT', value: String(port) },
        { name: 'ADMIN_HOST', value: '::' },
      ]),
    );
  }
});

test('a changed migration pod gets a new Job, because Jobs are immutable', async () => {
  const job = async (values: Json) => {
    const all = await render({ files: [valueSet('production')], values });
    return all.find(({ kind }) => kind === 'Job')?.metadata.name;
  };
  const before = await job({});
  expect(await job({ services: { auth: { replicas: 7 } } })).toBe(before);
  expect(await job({ migrate: { waitSeconds: 7 } })).not.toBe(before);
});

describe('for Prometheus and Grafana', () => {
  const files = [valueSet('production')];
  const folder = (name: string) => join(CHART, 'files', name);

  test.each(['', 'https://git.example/guild-data/blob/main/'])(
    'is each of the files of rules, with runbooks at "%s"',
    async (runbooksAt) => {
      const rendered = await render({ files, values: { monitoring: { rules: { runbooksAt } } } });
      const rules = rendered.filter(({ kind }) => kind === 'PrometheusRule').map(({ spec }) => spec);
      const written = readdirSync(folder('rules')).map((name) => readFileSync(join(folder('rules'), name), 'utf8'));
      const placed = written.map((one) => one.replaceAll('deploy/prometheus/runbooks.md', `${runbooksAt}$&`));
      expect(rules).toEqual(placed.map((one) => parse(one)));
    },
  );

  test.each(['', 'https://git.example/guild-data/blob/main/'])(
    'contains each dashboard, with runbooks at "%s"',
    async (runbooksAt) => {
      const rendered = (await render({ files, values: { monitoring: { rules: { runbooksAt } } } }))
        .filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.includes('-dashboard-'))
        .map(({ data }) => parsed(data));
      const written = readdirSync(folder('dashboards')).map((name) => {
        const dashboard = readFileSync(join(folder('dashboards'), name), 'utf8');
        return { [name]: JSON.parse(dashboard.replace('"query": ""', `"query": "${runbooksAt}"`)) };
      });
      expect(rendered).toEqual(written);
      for (const dashboard of rendered.flatMap((data) => Object.values(data))) {
        const { list } = (dashboard as { templating: { list: { name: string; query?: unknown }[] } }).templating;
        expect(list.find(({ name }) => name === 'runbooks')?.query).toBe(runbooksAt);
      }
    },
  );
});

const parsed = (data: unknown): JsonObject =>
  Object.fromEntries(Object.entries(data as Record<string, string>).map(([name, one]) => [name, JSON.parse(one)]));
