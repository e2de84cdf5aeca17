import { expect, test } from 'vitest';
import { DEPLOYABLES } from '#local/processes.ts';
import type { JsonObject } from './chart.ts';
import { render } from './helm.ts';
import { OWN_SERVERS, podOf, podTemplates } from './manifests.ts';

const CONSOLE = { enabled: true, publicUrl: 'https://console.example' };
const CERT_MANAGER = { mode: 'certManager', issuerRef: { name: 'internal' } };
const PROCESSES = DEPLOYABLES.map(({ name }) => name);
const HOLDERS = [...PROCESSES, 'guildctl'];
/** The addresses by which processes call each other. */
const ADDRESS = /^(?:dns:\/\/\/|https?:\/\/)([^:/]+)/;

const renderWith = (values: JsonObject) => render({ values: { ...OWN_SERVERS, console: CONSOLE, ...values } });

/** The Secret that each process mounts with its certificate. */
async function mountedWith(values: JsonObject): Promise<Record<string, unknown>> {
  const pods = podTemplates(await renderWith(values));
  const secretOf = (name: string) => {
    const volume = podOf(pods, name).spec.volumes?.find((one) => one['name'] === 'tls') as
      | { secret: { secretName: string } }
      | undefined;
    return volume?.secret.secretName;
  };
  return Object.fromEntries(HOLDERS.map((name) => [name, secretOf(name)]));
}

test('with cert-manager each process has a certificate of its own, for its own names alone', async () => {
  const all = await renderWith({ tls: CERT_MANAGER });
  const certificates = all.filter(({ kind }) => kind === 'Certificate');
  const mounted = await mountedWith({ tls: CERT_MANAGER });
  expect(certificates).toHaveLength(HOLDERS.length);
  for (const name of HOLDERS) {
    const own = certificates.find(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === name);
    const names = [`guild-guild-data-${name}`, `guild-guild-data-${name}-pods`];
    const expected = name === 'guildctl' ? [names[0]] : names.flatMap((one) => [one, `${one}.guild-data.svc`]);
    expect(new Set(own?.['spec'].dnsNames as string[])).toEqual(new Set(expected));
    expect(own?.['spec'].secretName).toBe(mounted[name]);
    expect(own?.['spec'].issuerRef).toMatchObject({ name: 'internal', kind: 'Issuer' });
  }
  expect(new Set(Object.values(mounted)).size).toBe(HOLDERS.length);
});

test('every address by which a process is called is a name of its certificate', async () => {
  const all = await renderWith({ tls: CERT_MANAGER });
  const certified = new Set(
    all.filter(({ kind }) => kind === 'Certificate').flatMap(({ spec }) => spec.dnsNames as string[]),
  );
  const called = [...podTemplates(all).values()]
    .flatMap(({ spec }) => spec.containers.flatMap(({ env }) => env ?? []))
    .filter(({ name }) => /_(GRPC_ADDRESS|HTTP_URL)$|^GUILDCTL_/.test(name))
    .flatMap(({ value = '' }) => value.split(',').map((one) => one.replace(/^\w+=/, '')))
    .map((one) => ADDRESS.exec(one)?.[1] ?? one.replace(/:.*/, ''));
  expect(called.length).toBeGreaterThan(PROCESSES.length);
  expect([...new Set(called)].filter((host) => !certified.has(host))).toEqual([]);
});

test('without guildctl it has no certificate', async () => {
  const all = await renderWith({ tls: CERT_MANAGER, guildctl: { enabled: false } });
  expect(all.filter(({ kind }) => kind === 'Certificate')).toHaveLength(PROCESSES.length);
});

test('with mode secret each process has its own Secret, and the shared one where it has none', async () => {
  const tls = { mode: 'secret', existingSecret: 'shared', secrets: { gateway: 'edge', guildctl: 'operators' } };
  const expected = Object.fromEntries(HOLDERS.map((name) => [name, 'shared']));
  expect(await mountedWith({ tls })).toEqual({ ...expected, gateway: 'edge', guildctl: 'operators' });
  const secrets = Object.fromEntries(HOLDERS.map((name) => [name, `${name}-tls`]));
  expect(await mountedWith({ tls: { mode: 'secret', secrets } })).toEqual(secrets);
});

test.each([
  ['no certificates', { mode: 'secret' }, /tls\.secrets\.activity must name a Secret[^]*tls\.secrets\.guildctl/],
  [
    'no certificate of one process',
    { mode: 'secret', secrets: Object.fromEntries(HOLDERS.slice(1).map((name) => [name, 'own'])) },
    new RegExp(`tls\\.secrets\\.${HOLDERS[0]} must name`),
  ],
  ['a Secret of an unknown process', { mode: 'secret', existingSecret: 'a', secrets: { gatway: 'b' } }, /gatway/],
  ['cert-manager without an issuer', { mode: 'certManager' }, /tls\.issuerRef\.name/],
  ['a Secret without TLS', { mode: 'none', existingSecret: 'a' }, /tls\.mode none/],
  ['Secrets of processes without TLS', { secrets: { gateway: 'a' } }, /tls\.mode none/],
  ['an issuer without cert-manager', { issuerRef: { name: 'internal' } }, /tls\.issuerRef\.name/],
  ['Secrets of one’s own with cert-manager', { ...CERT_MANAGER, existingSecret: 'a' }, /for tls\.mode secret/],
] as const)('%s are rejected', async (_, tls, message) => {
  await expect(renderWith({ tls: structuredClone(tls) })).rejects.toThrow(message);
});
