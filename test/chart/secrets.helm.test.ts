import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { DEPLOYABLES } from '#local/processes.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import type { Json, JsonObject } from './chart.ts';
import { helms, type Manifest, render } from './helm.ts';
import { EVALUATION, OWN_SERVERS, podOf, podTemplates } from './manifests.ts';

const CHECKSUM = 'guild-data/checksum';
const STORED = DEPLOYABLES.filter(({ name, holds }) => name !== 'console' && holds.includes('database')).map(
  ({ name }) => name,
);
const LIMITED = DEPLOYABLES.filter(({ name, holds }) => name !== 'console' && holds.includes('redis')).map(
  ({ name }) => name,
);

let server: ApiServer;
beforeEach(async () => {
  server = await startApiServer();
  onTestFinished(() => server.stop());
});

const object = (kind: string, name: string, data: Record<string, string>): Manifest => ({
  apiVersion: 'v1',
  kind,
  metadata: { name },
  data: kind === 'Secret' ? encoded(data) : data,
});
const encoded = (data: Record<string, string>) =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]));

/** A Secret with what the smallest values need; `changed` are other contents of some keys. */
function ownSecret(changed: Record<string, string> = {}): Manifest {
  const passwords = Object.fromEntries(['owner', ...STORED].map((name) => [`${name}-password`, `of ${name}`]));
  return object('Secret', 'own', { 'chat-bot-token': 'a', 'redis-url': 'redis://a', ...passwords, ...changed });
}

/** The checksum of the pods of each component; undefined if it has none. */
async function checksums(values: JsonObject = {}, helm?: string): Promise<Map<string, string | undefined>> {
  const all = await render({ values: { ...OWN_SERVERS, ...values }, kubeconfig: server.kubeconfig, helm });
  const pods = [...podTemplates(all)];
  return new Map(pods.map(([component, { metadata }]) => [component, metadata.annotations?.[CHECKSUM]]));
}

/** The components whose pods restart because their checksum changes when `change` runs. */
async function restartedBy(change: () => void, values: JsonObject = {}): Promise<string[]> {
  const before = await checksums(values);
  change();
  const after = await checksums(values);
  return [...after]
    .filter(([component, checksum]) => checksum !== before.get(component))
    .map(([component]) => component);
}

test.each(helms())('%s restarts the pods that read a changed key, and no others', async (helm) => {
  server.install(ownSecret());
  const before = await checksums({}, helm);
  expect(
    [...before]
      .filter(([, checksum]) => checksum !== undefined)
      .map(([component]) => component)
      .sort(),
  ).toEqual([...new Set([...STORED, ...LIMITED])].sort());
  expect(await checksums({}, helm)).toEqual(before);
  expect(await restartedBy(() => server.install(ownSecret({ 'lookup-password': 'other' })))).toEqual(['lookup']);
  const redis = await restartedBy(() => server.install(ownSecret({ 'redis-url': 'redis://b' })));
  expect(redis.sort()).toEqual([...LIMITED].sort());
});

test('a change of a file that a pod mounts restarts it, and of a Secret or ConfigMap of its envFrom', async () => {
  const values = {
    redis: { tls: { caSecret: { name: 'redis-ca' } } },
    services: {
      events: { envFrom: [{ configMapRef: { name: 'more' } }] },
      lookup: { envFrom: [{ secretRef: { name: 'extra' } }] },
    },
  };
  server.install(object('Secret', 'redis-ca', { 'ca.crt': 'one' }));
  server.install(object('ConfigMap', 'more', { A: '1' }), object('Secret', 'extra', { B: '1' }));
  const ca = await restartedBy(() => server.install(object('Secret', 'redis-ca', { 'ca.crt': 'two' })), values);
  expect(ca.sort()).toEqual([...LIMITED].sort());
  const more = await restartedBy(() => server.install(object('ConfigMap', 'more', { A: '2' })), values);
  expect(more).toEqual(['events']);
  const extra = await restartedBy(() => server.install(object('Secret', 'extra', { B: '1', C: '2' })), values);
  expect(extra).toEqual(['lookup']);
});

test('of an object with a CA only the certificate is mounted, and only its change restarts the pods', async () => {
  const values = {
    redis: { tls: { caSecret: { name: 'redis-ca', key: 'root.crt' } } },
    webhooks: { caConfigMap: { name: 'company' } },
  };
  const all = podTemplates(await render({ values: { ...OWN_SERVERS, ...values } }));
  const items = (key: string) => [{ key, path: key }];
  const redis = { name: 'redis-ca', secret: { secretName: 'redis-ca', defaultMode: 0o440, items: items('root.crt') } };
  expect(podOf(all, 'gateway').spec.volumes).toEqual([redis]);
  expect(podOf(all, 'events').spec.volumes).toEqual([
    redis,
    { name: 'webhooks-ca', configMap: { name: 'company', items: items('ca.crt') } },
  ]);
  const ca = { 'root.crt': 'one', 'root.key': 'one' };
  server.install(object('Secret', 'redis-ca', ca));
  const newKey = () => server.install(object('Secret', 'redis-ca', { ...ca, 'root.key': 'two' }));
  expect(await restartedBy(newKey, values)).toEqual([]);
  const newCertificate = () => server.install(object('Secret', 'redis-ca', { ...ca, 'root.crt': 'two' }));
  expect((await restartedBy(newCertificate, values)).sort()).toEqual([...LIMITED].sort());
});

test('projected volumes are compared too', async () => {
  const sources: Json[] = [
    { secret: { name: 'extra', items: [{ key: 'A', path: 'a' }] } },
    { configMap: { name: 'more' } },
  ];
  const values = { services: { events: { extraVolumes: [{ name: 'both', projected: { sources } }] } } };
  server.install(object('Secret', 'extra', { A: '1', B: '1' }), object('ConfigMap', 'more', { C: '1' }));
  const install = (name: string, data: Record<string, string>) => () =>
    server.install(object(name === 'extra' ? 'Secret' : 'ConfigMap', name, data));
  expect(await restartedBy(install('extra', { A: '1', B: '2' }), values)).toEqual([]);
  expect(await restartedBy(install('extra', { A: '2', B: '2' }), values)).toEqual(['events']);
  expect(await restartedBy(install('more', { C: '2' }), values)).toEqual(['events']);
});

test('names that YAML would read as numbers are texts', async () => {
  const secrets = { existingSecret: '7', keys: { redisUrl: '1', chatBotToken: 'true' } };
  const all = podTemplates(await render({ values: { ...OWN_SERVERS, secrets } }));
  const { env = [] } = podOf(all, 'bindings').spec.containers[0] ?? {};
  const from = (name: string) => env.find((one) => one.name === name)?.valueFrom;
  expect(from('REDIS_URL')).toEqual({ secretKeyRef: { name: '7', key: '1' } });
  expect(from('CHAT_BOT_TOKEN')).toEqual({ secretKeyRef: { name: '7', key: 'true' } });
});

test('new certificates restart nothing, because processes read them again', async () => {
  const values = { tls: { mode: 'secret', existingSecret: 'certificates' } };
  server.install(ownSecret(), object('Secret', 'certificates', { 'tls.crt': 'one' }));
  const change = () => server.install(object('Secret', 'certificates', { 'tls.crt': 'two' }));
  expect(await restartedBy(change, values)).toEqual([]);
});

test('restartOnSecretChange: false restarts nothing and reads no Secret', async () => {
  server.install(ownSecret());
  const found = await checksums({ restartOnSecretChange: false });
  expect([...found.values()].filter(Boolean)).toEqual([]);
});

test('in evaluation mode an upgrade restarts nothing, although the Secrets only exist since the installation', async () => {
  const options = { values: EVALUATION, kubeconfig: server.kubeconfig };
  const installed = await render(options);
  server.install(...installed.filter(({ kind }) => kind === 'Secret'));
  const templates = (all: readonly Manifest[]) =>
    [...podTemplates(all)].map(([, { metadata, spec }]) => ({ metadata, spec }));
  expect(templates(await render(options))).toEqual(templates(installed));
});
