import { expect, onTestFinished, test } from 'vitest';
import { parseKeys } from '#kit/security/process-keys.ts';
import { KEY_HOLDERS, purposesOf } from '#kit/security/purposes.ts';
import { startApiServer } from './api-server.ts';
import { type JsonObject, valueSet } from './chart.ts';
import { helms, type Manifest, podsOf, render } from './helm.ts';

/** The Secrets from which the pod of each component gets variables. */
function keySecretsOf(all: readonly Manifest[]): Record<string, string[]> {
  const pods = all
    .filter(({ kind }) => kind === 'Deployment')
    .map((one) => [one, podsOf(one)[0] as JsonObject] as const);
  return Object.fromEntries(
    pods.map(([{ metadata }, pod]) => {
      const names = JSON.stringify(pod).matchAll(/"name":"([^"]+)","key":"internal-keys"/g);
      return [metadata.labels?.['app.kubernetes.io/component'], [...names].map(([, name]) => name)];
    }),
  );
}

test.each([
  ['evaluation', 'guild-guild-data-keys'],
  ['production', 'guild-data-keys'],
])('with the values %s each process reads the Secret of its own keys alone', async (name, prefix) => {
  const all = await render({ files: [valueSet(name)] });
  expect(keySecretsOf(all)).toEqual(Object.fromEntries(KEY_HOLDERS.map((holder) => [holder, [`${prefix}-${holder}`]])));
});

test('in evaluation mode each process has its own random keys, and both sides of a call share one', async () => {
  const all = await render({ files: [valueSet('evaluation')] });
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
    const options = { files: [valueSet('evaluation')], kubeconfig: server.kubeconfig, helm };
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
