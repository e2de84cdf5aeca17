import { expect, test } from 'vitest';
import { parseKeys } from '#kit/process-keys.ts';
import { KEY_HOLDERS, purposesOf } from '#kit/purposes.ts';
import { type JsonObject, valueSet } from './chart.ts';
import { type Manifest, podsOf, render } from './helm.ts';

/** The Secrets that the pod of each component is given variables from. */
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

test('in evaluation mode each process has the keys of its own, random, and both sides of a call the same', async () => {
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
