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

  test('the output equals the approved file; UPDATE_GOLDEN=1 approves it', async () => {
    const path = join(GOLDEN, `${name}.yaml`);
    const rendered = text(await render({ files }));
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(path, rendered);
    expect(rendered).toBe(readFileSync(path, 'utf8'));
  });

  test('every Helm renders the same for every supported Kubernetes version', async () => {
    const expected = text(await render({ files }));
    for (const kubernetes of KUBERNETES) expect(text(await render({ files, kubernetes }))).toBe(expected);
    for (const helm of helms()) expect(text(await render({ files, helm }))).toBe(expected);
  });

  test('every pod meets the restricted standard, has limits, and no token', async () => {
    const pods = (await render({ files })).flatMap(podsOf);
    expect(pods.length).toBeGreaterThanOrEqual(DEPLOYABLES.length + 2);
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

type Container = { env: JsonObject[]; ports: { name: string; containerPort: number }[] };

/** Alternative values to try for a setting; the schema accepts at least one. */
function others(path: string[], value: Json): Json[] {
  const at = schemaAt(path) ?? {};
  if (Array.isArray(at['enum'])) return at['enum'];
  if (typeof value === 'boolean') return [!value, value];
  const own = OTHERS[path.join('.')];
  if (own !== undefined) return [own];
  if (typeof value === 'number') return [value + 1];
  if (typeof value === 'string') return ['https://other.example', 'other', `sha256:${'a'.repeat(64)}`];
  if (Array.isArray(value)) return [[{ podSelector: {} }], ['10.9.0.0/16'], [{ name: 'other' }], [1234]];
  return [{ other: 'other' }, { requests: { cpu: '7' } }, { LISTEN_HOST: '::' }, { replicas: 7 }];
}

/** Alternative values for settings that accept none of the usual ones. */
const OTHERS: Record<string, Json> = {
  'gateway.service.nodePort': 30_999,
  'defaults.autoscaling.cpuPerPod': '77m',
  'tls.duration': '77h',
  'monitoring.serviceMonitor.interval': '77s',
  'defaults.tolerations': [{ key: 'other' }],
  'networkPolicy.platforms.to': [{ podSelector: {} }],
  'networkPolicy.webhooks.to': [{ podSelector: {} }],
  'monitoring.rules.runbooksAt': 'https://other.example/',
  'evaluation.postgresql.storage.size': '7Gi',
};

test('every value changes the output for at least one value set', {
  timeout: 300_000,
}, async () => {
  const before = new Map<string[], string>();
  for (const name of VALUE_SETS) before.set([valueSet(name)], text(await render({ files: [valueSet(name)] })));
  // Rejected until evaluation.enabled is set.
  before.set([], '');
  const idle: string[] = [];
  for (const { path, value } of leaves(values)) {
    if (!(await matters(path, value, before))) idle.push(path.join('.'));
  }
  expect(idle).toEqual([]);
});

async function matters(path: string[], value: Json, before: Map<string[], string>): Promise<boolean> {
  for (const other of others(path, value)) {
    const laid = path.reduceRight<Json>((inner, name) => ({ [name]: inner }), other);
    for (const [files, unchanged] of before) {
      // A rejected value proves nothing.
      const changed = await render({ files, values: laid }).then(text, () => unchanged);
      if (changed !== unchanged) return true;
    }
  }
  return false;
}

const REFUSED: [string, string, RegExp][] = [
  ['an unknown value', '{"evaluation":{"enabld":true}}', /enabld/],
  ['an unknown service', '{"services":{"lokup":{}}}', /lokup/],
  ['a variable of another service', '{"services":{"auth":{"config":{"MAX_IN_FLIGHT":1}}}}', /MAX_IN_FLIGHT/],
  ['a number as a text', '{"defaults":{"replicas":"2"}}', /replicas/],
  ['a text as a flag', '{"redis":{"enabled":"no"}}', /enabled/],
  ['an unknown level of logs', '{"logLevel":"loud"}', /logLevel/],
  ['a label that the chart sets, on objects', '{"commonLabels":{"app.kubernetes.io/name":"a"}}', /commonLabels/],
  ['a label that the chart sets, on pods', '{"podLabels":{"app.kubernetes.io/component":"a"}}', /podLabels/],
  ['a stop that is shorter than the wait before it', '{"stopSeconds":6,"drainDelaySeconds":6}', /stopSeconds/],
  ['a name that is none of a Service', '{"fullnameOverride":"a.b"}', /fullnameOverride/],
  ['a host that is none', '{"ingress":{"host":"UPPER_bad"}}', /host/],
  ['a certificate for no host', '{"ingress":{"tlsSecret":"a"}}', /ingress\.host/],
  ['a budget that lets no node be drained', '{"defaults":{"maxUnavailable":0}}', /maxUnavailable/],
  ['an Ingress without trusted proxies', '{"ingress":{"enabled":true}}', /trustedProxies/],
  [
    'an HTTPRoute without trusted proxies',
    '{"httpRoute":{"enabled":true,"parentRefs":[{"name":"a"}]}}',
    /trustedProxies/,
  ],
  ['a database of one’s own in evaluation mode', '{"database":{"host":"db"}}', /database\.host/],
  ['a port that is not of evaluation’s database', '{"database":{"port":6432}}', /database\.port/],
  ['a CA for evaluation’s database', '{"database":{"tls":{"caSecret":{"name":"ca"}}}}', /database\.tls\.caSecret/],
  ['a CA for evaluation’s Redis', '{"redis":{"tls":{"caSecret":{"name":"ca"}}}}', /redis\.tls\.caSecret/],
  [
    'a real chat platform with the token of the simulated one',
    '{"platforms":{"chatApiUrl":"https://chat.example"}}',
    /existingSecret/,
  ],
  [
    'a real game platform together with simulated ones',
    '{"platforms":{"gameApisUrl":"https://game.example"}}',
    /platforms\.gameApisUrl/,
  ],
  ['TLS without certificates', '{"tls":{"mode":"secret"}}', /tls\.existingSecret/],
  ['fewer at most than at least', '{"defaults":{"autoscaling":{"minReplicas":5,"maxReplicas":4}}}', /minReplicas/],
];

test.each(REFUSED)('%s is rejected with a message that names it', async (_, set, message) => {
  for (const helm of helms()) {
    await expect(render({ files: [valueSet('evaluation')], values: JSON.parse(set) as Json, helm })).rejects.toThrow(
      message,
    );
  }
});

test('outside evaluation mode, nothing is rendered without a Secret and a database', async () => {
  await expect(render({})).rejects.toThrow(/secrets\.existingSecret[\s\S]*database\.host/);
});

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

  test('contains each dashboard', async () => {
    const rendered = (await render({ files }))
      .filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.includes('-dashboard-'))
      .map(({ data }) => data);
    const written = readdirSync(folder('dashboards')).map((name) => ({
      [name]: readFileSync(join(folder('dashboards'), name), 'utf8').trimEnd(),
    }));
    expect(rendered.map(trimmed)).toEqual(written);
  });
});

/** Ignores trailing white space. */
function trimmed(data: unknown): JsonObject {
  return Object.fromEntries(Object.entries(data as Record<string, string>).map(([name, one]) => [name, one.trimEnd()]));
}
