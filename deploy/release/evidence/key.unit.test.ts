import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { makeKey } from '../fixture.ts';
import { SigningKey } from './key.ts';

test('a key of another curve or algorithm is rejected, because not every version of cosign verifies it', () => {
  expect(() => makeKey('secp384r1')).toThrow('must be an ECDSA key on the curve P-256');
  const ed25519 = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  expect(() => new SigningKey(ed25519)).toThrow('must be an ECDSA key on the curve P-256');
});

test('an encrypted key needs its passphrase', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const encrypted = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' } as const;
  const pem = privateKey.export(encrypted);
  expect(new SigningKey(pem, 'secret').sign(Buffer.from('x'))).toMatch(/^ME/);
  expect(() => new SigningKey(pem, 'other')).toThrow('the key of the release cannot be read');
  expect(() => new SigningKey(pem)).toThrow('the key of the release cannot be read');
});
