import { expect, onTestFinished, test } from 'vitest';
import { parseKeys } from '#kit/security/process-keys.ts';
import { KEY_HOLDERS, purposesOf } from '#kit/security/purposes.ts';
import { startApiServer } from './api-server.ts';
import { type JsonObject, valueSet } from './chart.ts';
import { helms, type Manifest, render } from './helm.ts';
import { type PodSpec, podTemplates } from './manifests.ts';

/** Those that hold keys with the values of a set; the console is only there if it is enabled. */
const holdersWith = (name: string) => KEY_HOLDERS.filter((holder) => holder !== 'console' || name.includes('console'));

/** The Secrets from which the pod of each component gets its keys. */
function keySecretsOf(all: readonly Manifest[]): Record<string, string[]> {
  const pods = [...podTemplates(all)].filter(([, { owner }]) => owner.kind === 'Deployment');
  const secretsOf = ({ containers }: PodSpec) =>
    containers.flatMap(({ env = [] }) => env.filter(({ name }) => name === 'INTERNAL_KEYS').map(secretOf));
  return Object.fromEntries(pods.map(([component, { spec }]) => [component, secretsOf(spec)]));
}

const secretOf = ({ valueFrom }: { valueFrom?: JsonObject }) =>
  (valueFrom?.['secretKeyRef'] as { name: string } | undefined)?.name ?? '';

test.each([
  ['evaluation', 'guild-guild-data-keys'],
  ['production', 'guild-data-keys'],
  ['console', 'guild-data-keys'],
  ['evaluation-console', 'guild-guild-data-keys'],
])('with the values %s each process reads the Secret of its own keys alone', async (name, prefix) => {
  const all = await render({ files: [valueSet(name)] });
  expect(keySecretsOf(all)).toEqual(
    Object.fromEntries(holdersWith(name).map((holder) => [holder, [`${prefix}-${holder}`]])),
  );
});

test('in evaluation mode each process has its own random keys, and both sides of a call share one', async () => {
  const all = await render({ files: [valueSet('evaluation-console')] });
  const shared = new Map<string, string>();
  for (const holder of KEY_HOLDERS) {
    const secret = all.find(({ kind, metadata }) => kind === 'Secret' && metadata.name.endsWith(`-keys-${holder}`));
    const keys = parseKeys(Buffer.from(secret?.['data']['internal-keys'] ?? '', 'base64').toString());
    expect([...keys.keys()]).toEqual(purposesOf(holder));
    for (const [purpose, [key]] of keys) {
      const text = key?.toString('hex') ?? '';
      expect(shared.get(purpose) ?? text).toBe(text);
      shared.set(purpose, text);
    }
  }
  expect(new Set(shared.values()).size).toBe(shared.size);
});

const keySecrets = (all: readonly Manifest[]) =>
  all.filter(({ kind, metadata }) => kind === 'Secret' && metadata.name.includes('-keys-'));
const readKeys = ({ data }: Manifest) => Buffer.from(data['internal-keys'] as string, 'base64').toString();

test.each(helms())(
  '%s keeps the keys of evaluation mode at an upgrade, and adds those that are missing',
  async (helm) => {
    const server = await startApiServer();
    onTestFinished(() => server.stop());
    const options = { files: [valueSet('evaluation-console')], kubeconfig: server.kubeconfig, helm };
    const installed = keySecrets(await render(options));
    expect(installed).toHaveLength(KEY_HOLDERS.length);
    server.install(...installed);
    expect(keySecrets(await render(options))).toEqual(installed);
    // As after an upgrade from a version without calls from bindings to lookup, and after the loss of a Secret.
    const of = (all: readonly Manifest[], name: string) =>
      all.find(({ metadata }) => metadata.name.endsWith(`-keys-${name}`)) as Manifest;
    server.remove(of(installed, 'guildctl'));
    for (const name of ['lookup', 'bindings']) {
      const secret = of(installed, name);
      const fewer = readKeys(secret).replace(/call:bindings:lookup=[^,]+,/, '');
      const data = { 'internal-keys': Buffer.from(fewer).toString('base64') };
      server.install({ ...secret, data });
    }
    const upgraded = keySecrets(await render(options));
    expect(of(upgraded, 'guildctl')).toEqual(of(installed, 'guildctl'));
    expect(of(upgraded, 'gateway')).toEqual(of(installed, 'gateway'));
    const added = ['lookup', 'bindings'].map((name) => parseKeys(readKeys(of(upgraded, name))));
    expect(added[0]?.get('call:bindings:lookup')).toEqual(added[1]?.get('call:bindings:lookup'));
    expect(added[0]?.get('principal:lookup')).toEqual(
      parseKeys(readKeys(of(installed, 'lookup'))).get('principal:lookup'),
    );
  },
);

test('the console that is enabled later gets the key that auth already has', async () => {
  const server = await startApiServer();
  onTestFinished(() => server.stop());
  const installed = keySecrets(await render({ files: [valueSet('evaluation')], kubeconfig: server.kubeconfig }));
  server.install(...installed);
  const later = keySecrets(await render({ files: [valueSet('evaluation-console')], kubeconfig: server.kubeconfig }));
  const isConsole = ({ metadata }: Manifest) => metadata.name.endsWith('-console');
  expect(later.filter((one) => !isConsole(one))).toEqual(installed);
  const [console, auth] = ['-console', '-auth'].map((end) =>
    parseKeys(readKeys(later.find(({ metadata }) => metadata.name.endsWith(end)) as Manifest)),
  );
  expect(console?.get('call:console:auth')).toEqual(auth?.get('call:console:auth'));
});
