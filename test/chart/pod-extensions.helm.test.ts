import { expect, test } from 'vitest';
import { DEPLOYABLES } from '#local/processes.ts';
import type { JsonObject } from './chart.ts';
import { type Container, podOf, podsWith } from './manifests.ts';

const EXTENSIONS = {
  extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
  envFrom: [{ configMapRef: { name: 'more' } }],
  extraVolumes: [{ name: 'extra', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'extra', mountPath: '/extra' }],
  initContainers: [{ name: 'database-proxy', image: 'proxy', restartPolicy: 'Always' }],
  sidecars: [{ name: 'shipper', image: 'shipper' }],
} satisfies JsonObject;

const names = (containers: readonly Container[] = []) => containers.map(({ name }) => name);

/** The containers of the chart in a pod, without those of EXTENSIONS. */
const ownOf = (containers: readonly Container[]) =>
  containers.filter(({ name }) => !['database-proxy', 'shipper'].includes(name));

test('extensions of the defaults are in the pods of all services, and in no other pod', async () => {
  const pods = await podsWith({ defaults: EXTENSIONS, console: { enabled: true } });
  for (const { name, holds } of DEPLOYABLES) {
    const { spec } = podOf(pods, name);
    expect(names(spec.containers)).toEqual([name, 'shipper']);
    // A proxy to the database must run before the container that waits for the schema.
    expect(names(spec.initContainers)).toEqual([
      'database-proxy',
      ...(holds.includes('database') ? ['wait-for-schema'] : []),
    ]);
    expect(spec.volumes).toEqual(EXTENSIONS.extraVolumes);
    for (const container of ownOf([...spec.containers, ...(spec.initContainers ?? [])])) {
      expect(container.env).toContainEqual(EXTENSIONS.extraEnv[0]);
      expect(container).toMatchObject({ envFrom: EXTENSIONS.envFrom, volumeMounts: EXTENSIONS.extraVolumeMounts });
    }
  }
  for (const component of ['guildctl', 'migrate', 'test', 'postgresql', 'redis', 'simulators']) {
    expect(JSON.stringify(podOf(pods, component).spec)).not.toMatch(/HTTPS_PROXY|"extra"|shipper|database-proxy/);
  }
});

test.each(['migrate', 'guildctl'])('%s has extensions of its own', async (component) => {
  const pods = await podsWith({ [component]: EXTENSIONS });
  const { spec } = podOf(pods, component);
  expect(names(spec.containers)).toEqual([component, 'shipper']);
  expect(names(spec.initContainers)).toEqual(['database-proxy']);
  expect(spec.volumes).toEqual(EXTENSIONS.extraVolumes);
  expect(spec.containers[0]?.env).toContainEqual(EXTENSIONS.extraEnv[0]);
  expect(spec.containers[0]).toMatchObject({
    envFrom: EXTENSIONS.envFrom,
    volumeMounts: EXTENSIONS.extraVolumeMounts,
  });
  expect(JSON.stringify(podOf(pods, 'auth').spec)).not.toContain('shipper');
});

test('extensions of one service are in its pods alone, and replace those of the defaults', async () => {
  const own = [{ name: 'other', image: 'other' }];
  const pods = await podsWith({ defaults: EXTENSIONS, services: { gateway: { sidecars: own } } });
  expect(names(podOf(pods, 'gateway').spec.containers)).toEqual(['gateway', 'other']);
  expect(names(podOf(pods, 'auth').spec.containers)).toEqual(['auth', 'shipper']);
});

test('volumes and mounts of values are beside those of the chart', async () => {
  const pods = await podsWith({
    defaults: EXTENSIONS,
    tls: { mode: 'secret', existingSecret: 'certificates' },
  });
  const { spec } = podOf(pods, 'auth');
  expect(spec.volumes?.map(({ name }) => name)).toEqual(['tls', 'extra']);
  expect(spec.containers[0]?.volumeMounts?.map(({ name }) => name)).toEqual(['tls', 'extra']);
});

test.each([
  ['PG_POOL_MAX', { services: { auth: { extraEnv: [{ name: 'PG_POOL_MAX', value: '50' }] } } }],
  ['DATABASE_DIRECT_URL', { defaults: { extraEnv: [{ name: 'DATABASE_DIRECT_URL', value: 'postgres://other' }] } }],
  ['CITUS', { migrate: { extraEnv: [{ name: 'CITUS', value: 'true' }] } }],
  ['MIGRATE_LOCK_WAIT_SECONDS', { migrate: { extraEnv: [{ name: 'MIGRATE_LOCK_WAIT_SECONDS', value: '1' }] } }],
  ['DATABASE_DIRECT_URL', { migrate: { extraEnv: [{ name: 'DATABASE_DIRECT_URL', value: 'postgres://other' }] } }],
  ['INTERNAL_TLS_CA_FILE', { guildctl: { extraEnv: [{ name: 'INTERNAL_TLS_CA_FILE', value: '/other' }] } }],
])(
  'the variable %s of the process is rejected in extraEnv, also if the chart does not set it now',
  async (name, values) => {
    await expect(podsWith(values)).rejects.toThrow(`extraEnv must not contain ${name}`);
  },
);

test('a variable of one process may be in extraEnv of another', async () => {
  const extraEnv = [{ name: 'SECURITY_CONTACT', value: 'a' }];
  const pods = await podsWith({ services: { lookup: { extraEnv } } });
  expect(podOf(pods, 'lookup').spec.containers[0]?.env).toContainEqual(extraEnv[0]);
  await expect(podsWith({ services: { gateway: { extraEnv } } })).rejects.toThrow('SECURITY_CONTACT');
});

test.each([
  ['a service', 'auth', { services: { auth: { extraEnv: [{ name: 'LOG_LEVEL', value: 'debug' }] } } }],
  ['the migration', 'migrate', { migrate: { extraEnv: [{ name: 'DATABASE_URL', value: 'postgres://other' }] } }],
])('a variable that the chart sets is rejected in extraEnv of %s', async (_, container, values) => {
  await expect(podsWith(values)).rejects.toThrow(
    new RegExp(
      `extraEnv must not contain (LOG_LEVEL|DATABASE_URL), which belongs to the chart's container ${container}`,
    ),
  );
});

test.each([
  ['a nodeSelector that is no text', { defaults: { nodeSelector: { zone: 1 } } }, /nodeSelector/],
  ['a quantity that is none', { defaults: { resources: { requests: { memory: '128MB' } } } }, /memory/],
  ['a variable without a name', { defaults: { extraEnv: [{ value: 'a' }] } }, /extraEnv/],
  ['a mount without a path', { migrate: { extraVolumeMounts: [{ name: 'a' }] } }, /extraVolumeMounts/],
  [
    'a label that the chart sets',
    { services: { auth: { podLabels: { 'app.kubernetes.io/name': 'a' } } } },
    /podLabels/,
  ],
  ['a registry that is no text', { global: { imageRegistry: 7 } }, /imageRegistry/],
  [
    'a rule of spreading without a key',
    { defaults: { topologySpreadConstraints: [{ maxSkew: 1 }] } },
    /topologySpread/,
  ],
  ['an unknown value of guildctl', { guildctl: { replicas: 2 } }, /guildctl/],
] as const)('the schema rejects %s', async (_, values, message) => {
  await expect(podsWith(structuredClone(values) as unknown as JsonObject)).rejects.toThrow(message);
});
