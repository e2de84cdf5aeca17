import { expect, test } from 'vitest';
import { readAuthConfig } from './config.ts';

const environment = {
  INTERNAL_SECRETS: 'i'.repeat(32),
  ADMIN_SECRETS: 'a'.repeat(32),
  DATABASE_URL: 'postgres://127.0.0.1/guild',
};

test('auth does not start where every service could make keys', () => {
  expect(readAuthConfig(environment).ADMIN_SECRETS).toEqual(['a'.repeat(32)]);
  const shared = { ...environment, ADMIN_SECRETS: `${'a'.repeat(32)},${'i'.repeat(32)}` };
  expect(() => readAuthConfig(shared)).toThrow('must not hold a secret of INTERNAL_SECRETS');
});

test('auth does not start without a secret for administrators, or with a short one; no value is repeated', () => {
  const { ADMIN_SECRETS: _, ...without } = environment;
  expect(() => readAuthConfig(without)).toThrow('ADMIN_SECRETS is required');
  expect(() => readAuthConfig({ ...environment, ADMIN_SECRETS: 'short-one' })).toThrow(/^(?!.*short-one)/);
});
