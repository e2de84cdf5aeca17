import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { internalKeysOf, parseKeys } from '#kit/security/process-keys.ts';
import { KEY_HOLDERS } from '#kit/security/purposes.ts';
import type { Environment } from '#kit/service/config.ts';
import { runGuildctl } from '../fixtures/guildctl.ts';

const [INTERNAL, OLD_INTERNAL, ADMIN] = ['internal', 'old-internal', 'admin'].map((name) => name.padEnd(40, 'x'));
const ROOTS = { INTERNAL_SECRETS: `${INTERNAL},${OLD_INTERNAL}`, ADMIN_SECRETS: ADMIN };
const expected = (name: string) =>
  internalKeysOf(name, { internal: [INTERNAL ?? '', OLD_INTERNAL ?? ''], admin: [ADMIN ?? ''] });

const run = (words: string[], environment: Environment = ROOTS) => runGuildctl(['secrets', ...words], environment);

test('generate prints two new root secrets each time, from which keys can be derived', async () => {
  const [one, other] = [await run(['generate'], {}), await run(['generate', '--json'], {})];
  const roots = Object.fromEntries(
    one.out
      .trim()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  );
  expect(Object.keys(roots)).toEqual(['INTERNAL_SECRETS', 'ADMIN_SECRETS']);
  expect(new Set([...Object.values(roots), ...Object.values(JSON.parse(other.out) as object)]).size).toBe(4);
  expect((await run(['derive'], roots)).status).toBe(0);
});

test('derive prints the keys of one process, from both secrets during a rotation, and no root secret', async () => {
  const { out } = await run(['derive', '--process', 'lookup']);
  expect(out).toBe(`# lookup\nINTERNAL_KEYS=${expected('lookup')}\n`);
  const keys = parseKeys(expected('lookup'));
  expect([keys.get('principal:lookup')?.length, keys.get('call:operators:lookup')?.length]).toEqual([2, 1]);
  const all = await run(['derive', '--json']);
  expect(JSON.parse(all.out)).toEqual(Object.fromEntries(KEY_HOLDERS.map((name) => [name, expected(name)])));
  for (const root of [INTERNAL, OLD_INTERNAL, ADMIN]) expect(all.out + out).not.toContain(root);
});

test('derive prints variables for compose, and a Secret for each process for Kubernetes', async () => {
  const compose = await run(['derive', '--format', 'compose']);
  expect(compose.out.trim().split('\n')).toEqual(
    KEY_HOLDERS.map((name) => `${name.toUpperCase()}_INTERNAL_KEYS=${expected(name)}`),
  );
  const kubernetes = await run(['derive', '--format', 'kubernetes', '--prefix', 'own']);
  expect(parseAllDocuments(kubernetes.out).map((document) => document.toJS() as unknown)).toEqual(
    KEY_HOLDERS.map((name) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `own-${name}` },
      type: 'Opaque',
      stringData: { 'internal-keys': expected(name) },
    })),
  );
});

test.each([
  [['derive'], {}, 'INTERNAL_SECRETS is required'],
  [['derive'], { INTERNAL_SECRETS: INTERNAL, ADMIN_SECRETS: INTERNAL }, 'must not hold a secret of INTERNAL_SECRETS'],
  [['derive'], { ...ROOTS, ADMIN_SECRETS: 'a-short-one' }, 'ADMIN_SECRETS must hold secrets of at least 32 bytes'],
  [['derive', '--process', 'lokup'], ROOTS, '--process must be one of auth, lookup,'],
  [['derive', '--format', 'yaml'], ROOTS, '--format must be one of env, compose, kubernetes'],
  [['derive', '--prefix', 'A b'], ROOTS, '--prefix must be a name'],
])('%j fails, and the error contains no secret', async (words, environment, message) => {
  const { status, out, error } = await run(words, environment);
  expect({ status, out }).toEqual({ status: 1, out: '' });
  expect(error).toContain(message);
  expect(error).not.toMatch(/xxxx|a-short-one/);
});
