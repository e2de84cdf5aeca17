import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { DEPLOYABLES } from '#local/processes.ts';
import { CHART } from '../../deploy/chart-files.ts';
import { type Json, type JsonObject, leaves, schemaAt, VALUE_SETS, valueSet, values } from './chart.ts';
import { helms, KUBERNETES, type Manifest, render, runHelm } from './helm.ts';

const GOLDEN = join(CHART, 'golden');

/** Without what differs each time (generated passwords), and what is tested elsewhere (rules, dashboards). */
function comparable(manifest: Manifest): Manifest {
  if (manifest.kind === 'Secret') {
    const secrets = Object.keys(manifest['data'] as JsonObject).map((name) => [name, '…']);
    return { ...manifest, data: Object.fromEntries(secrets) as JsonObject };
  }
  if (manifest.kind === 'PrometheusRule') return { ...manifest, spec: '…' };
  if (manifest.kind === 'ConfigMap') return { ...manifest, data: Object.keys(manifest['data'] as JsonObject) };
  return manifest;
}

const text = (all: readonly Manifest[]) => all.map((one) => stringify(comparable(one), { lineWidth: 0 })).join('---\n');

describe.each(VALUE_SETS)('with the values %s', (name) => {
  const files = [valueSet(name)];

  test.each(helms())('%s lint --strict has nothing to say', async (helm) => {
    const words = ['lint', '--strict', '--quiet', CHART, ...files.flatMap((file) => ['--values', file])];
    expect((await runHelm(words, helm)).trim()).toBe('');
  });

  test('what is rendered is what was approved; UPDATE_GOLDEN=1 approves', async () => {
    const path = join(GOLDEN, `${name}.yaml`);
    const rendered = text(await render({ files }));
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(path, rendered);
    expect(rendered).toBe(readFileSync(path, 'utf8'));
  });

  test('every Helm renders the same, for every Kubernetes that the chart is for', async () => {
    const expected = text(await render({ files }));
    for (const kubernetes of KUBERNETES) expect(text(await render({ files, kubernetes }))).toBe(expected);
    for (const helm of helms()) expect(text(await render({ files, helm }))).toBe(expected);
  });

  test('every pod is fit for the restricted standard, has limits, and no token', async () => {
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

/** The specs of the pods that a manifest stands for. */
function podsOf({ kind, spec }: Manifest): JsonObject[] {
  if (kind === 'Pod') return [spec as JsonObject];
  const template = (spec as { template?: { spec: JsonObject } } | undefined)?.template;
  return template === undefined ? [] : [template.spec];
}

/** Values to try in the place of one, of which the schema takes at least one; a value set may have any of them. */
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

/** Where none of the usual fits. */
const OTHERS: Record<string, Json> = {
  'gateway.service.nodePort': 30_999,
  'tls.duration': '77h',
  'monitoring.serviceMonitor.interval': '77s',
  'defaults.tolerations': [{ key: 'other' }],
  'networkPolicy.platforms.to': [{ podSelector: {} }],
  'evaluation.postgresql.storage.size': '7Gi',
};

test('every value changes what is rendered, for at least one way of using the chart', {
  timeout: 300_000,
}, async () => {
  const before = new Map<string, string>();
  for (const name of VALUE_SETS) before.set(name, text(await render({ files: [valueSet(name)] })));
  const idle: string[] = [];
  for (const { path, value } of leaves(values)) {
    if (!(await matters(path, value, before))) idle.push(path.join('.'));
  }
  expect(idle).toEqual([]);
});

async function matters(path: string[], value: Json, before: Map<string, string>): Promise<boolean> {
  for (const other of others(path, value)) {
    const laid = path.reduceRight<Json>((inner, name) => ({ [name]: inner }), other);
    for (const [name, unchanged] of before) {
      // What is refused shows no use.
      const changed = await render({ files: [valueSet(name)], values: laid }).then(text, () => unchanged);
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
  ['an Ingress without trusted proxies', '{"ingress":{"enabled":true}}', /trustedProxies/],
  [
    'an HTTPRoute without trusted proxies',
    '{"httpRoute":{"enabled":true,"parentRefs":[{"name":"a"}]}}',
    /trustedProxies/,
  ],
  ['a database of one’s own in evaluation mode', '{"database":{"host":"db"}}', /database\.host/],
  ['TLS without certificates', '{"tls":{"mode":"secret"}}', /tls\.existingSecret/],
  ['fewer at most than at least', '{"defaults":{"autoscaling":{"minReplicas":5,"maxReplicas":4}}}', /minReplicas/],
];

test.each(REFUSED)('%s is refused, with a word on which', async (_, set, message) => {
  for (const helm of helms()) {
    await expect(render({ files: [valueSet('evaluation')], values: JSON.parse(set) as Json, helm })).rejects.toThrow(
      message,
    );
  }
});

test('without a Secret and a database of one’s own nothing is rendered outside evaluation mode', async () => {
  await expect(render({})).rejects.toThrow(/secrets\.existingSecret[\s\S]*database\.host/);
});

test('nothing is generated outside evaluation mode: rendering twice gives the same', async () => {
  for (const name of VALUE_SETS.filter((one) => !one.startsWith('evaluation'))) {
    const [one, other] = [await render({ files: [valueSet(name)] }), await render({ files: [valueSet(name)] })];
    expect(other).toEqual(one);
    expect(one.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  }
});

test('the parts of a release are told from those of another in the same namespace', async () => {
  const all = await render({ files: [valueSet('evaluation')] });
  for (const { kind, spec } of all) {
    const selector = (spec as { selector?: { matchLabels?: JsonObject } & JsonObject } | undefined)?.selector;
    if (kind === 'NetworkPolicy' || selector === undefined) continue;
    expect(selector.matchLabels ?? selector).toMatchObject({ 'app.kubernetes.io/instance': 'guild' });
  }
});

test('Deployments and what they mount are the same at each revision: an upgrade without a change restarts nothing', async () => {
  const pods = async (revision: string) => {
    const words = [
      'template',
      'guild',
      CHART,
      '-n',
      'guild-data',
      '-f',
      valueSet('production'),
      ...(revision === '2' ? ['--is-upgrade'] : []),
    ];
    return (await runHelm(words)).split('---').filter((one) => /^kind: Deployment$/m.test(one));
  };
  expect(await pods('2')).toEqual(await pods('1'));
});
