import { expect, test } from 'vitest';
import { processConfig, readConfig, tracingConfig } from '#kit/service/config.ts';
import { DEPLOYABLES } from '#local/processes.ts';
import { isTraced, type JsonObject, VALUE_SETS, valueSet } from './chart.ts';
import { type Manifest, podsOf, render } from './helm.ts';

const OURS = /^(?:OTEL|TRACING)_/;
const SETTINGS = {
  endpoint: 'https://collector.monitoring:4318',
  sampleRatio: 0.05,
  callerSamplesPerSecond: 0,
  sendEveryMs: 250,
  headersSecret: { name: 'collector', key: 'token' },
  caSecret: { name: 'collector-ca', key: 'root.crt' },
  resourceAttributes: { 'deployment.environment.name': 'a b,c=d' },
};
const KEYS = `call:a:b=${Buffer.alloc(32).toString('base64url')}`;

const componentOf = ({ metadata }: Manifest) => metadata.labels?.['app.kubernetes.io/component'];
const containersOf = (one: Manifest) => podsOf(one).flatMap((pod) => pod['containers'] as JsonObject[]);
type Variable = JsonObject & { name: string };
const variablesOf = (one: Manifest) => containersOf(one).flatMap(({ env }) => (env ?? []) as Variable[]);

/** The Deployments of the services. */
async function services(values: JsonObject): Promise<Manifest[]> {
  const all = await render({ files: [valueSet('console')], values });
  const names = DEPLOYABLES.map(({ name }) => name);
  return all.filter((one) => one.kind === 'Deployment' && names.some((name) => name === componentOf(one)));
}

test.each(VALUE_SETS.filter((name) => !isTraced(name)))('with the values %s nothing is traced', async (name) => {
  const all = await render({ files: [valueSet(name)] });
  expect(all.flatMap(variablesOf).filter(({ name: variable }) => OURS.test(variable))).toEqual([]);
  expect(all.flatMap(podsOf).filter((pod) => JSON.stringify(pod).includes('tracing'))).toEqual([]);
});

test('every service gets the settings of the collector, as a process reads them', async () => {
  const deployments = await services({ tracing: SETTINGS });
  expect(deployments).toHaveLength(DEPLOYABLES.length);
  for (const deployment of deployments) {
    const given = variablesOf(deployment).filter(({ name }) => OURS.test(name));
    const plain = Object.fromEntries(given.map(({ name, value }) => [name, value])) as Record<string, string>;
    expect(readConfig(processConfig, { ...plain, INTERNAL_KEYS: KEYS })).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT: SETTINGS.endpoint,
      OTEL_EXPORTER_OTLP_CERTIFICATE: '/etc/guild-data/tracing-ca/root.crt',
      TRACING_SAMPLE_RATIO: 0.05,
      TRACING_CALLER_SAMPLES_PER_SECOND: 0,
      OTEL_BSP_SCHEDULE_DELAY: 250,
      OTEL_RESOURCE_ATTRIBUTES: {
        'k8s.namespace.name': 'guild-data',
        'guild_data.release': 'guild',
        'deployment.environment.name': 'a b,c=d',
      },
    });
    expect(given).toContainEqual({
      name: 'OTEL_EXPORTER_OTLP_HEADERS',
      valueFrom: { secretKeyRef: { name: 'collector', key: 'token' } },
    });
    expect(containersOf(deployment).flatMap((one) => one['volumeMounts'])).toContainEqual({
      name: 'tracing-ca',
      mountPath: '/etc/guild-data/tracing-ca',
      readOnly: true,
    });
  }
});

test.each([0, 1, 0.00005, 0.000_000_001])('a process reads the share %d of sampled requests', async (sampleRatio) => {
  for (const deployment of await services({ tracing: { ...SETTINGS, sampleRatio } })) {
    const given = variablesOf(deployment).find(({ name }) => name === 'TRACING_SAMPLE_RATIO')?.['value'] as string;
    expect(readConfig(tracingConfig, { TRACING_SAMPLE_RATIO: given })).toMatchObject({
      TRACING_SAMPLE_RATIO: sampleRatio,
    });
  }
});

test.each([
  ['http://collector:4318', 4318],
  ['https://collector/otlp', 443],
  ['http://[fd00::1]', 80],
])('by default the collector %s may be reached on port %i', async (endpoint, port) => {
  const all = await render({ files: [valueSet('console')], values: { tracing: { endpoint } } });
  const policy = all.find((one) => one.kind === 'NetworkPolicy' && componentOf(one) === 'lookup');
  expect(policy?.spec['egress'].at(-1)).toEqual({ ports: [{ port, protocol: 'TCP' }] });
});

test('every service, and nothing else, may reach the collector', async () => {
  const to = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];
  const values = { tracing: SETTINGS, networkPolicy: { tracing: { to, ports: [4318] } } };
  const all = await render({ files: [valueSet('console')], values });
  const rule = { ports: [{ port: 4318, protocol: 'TCP' }], to };
  const reaching = all.filter(
    ({ kind, spec }) => kind === 'NetworkPolicy' && JSON.stringify(spec['egress'] ?? []).includes('4318'),
  );
  expect(new Set(reaching.map(componentOf))).toEqual(new Set(DEPLOYABLES.map(({ name }) => name)));
  for (const { spec } of reaching) expect(spec['egress']).toContainEqual(rule);
});

test.each<JsonObject>([
  { endpoint: 'collector:4318' },
  { endpoint: 'http://user:secret@collector:4318' },
  { endpoint: 'http://collector:65536' },
  { sampleRatio: 1.5 },
  { sampleRatio: '1 %' },
  { callerSamplesPerSecond: -1 },
  { sendEveryMs: 1 },
  { resourceAttributes: { 'a=b': 'c' } },
  { caSecret: { name: 'a' }, caConfigMap: { name: 'b' } },
])('the setting %j is rejected', async (tracing) => {
  await expect(render({ files: [valueSet('production')], values: { tracing } })).rejects.toThrow('tracing');
});
