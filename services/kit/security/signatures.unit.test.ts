import { expect, test } from 'vitest';
import { createCallToken, verifyCallToken } from '../grpc/call-token.ts';
import { ProcessKeys, SecretRing } from './keyring.ts';
import { type Principal, type SignedRequest, signPrincipal, verifyPrincipal } from './principal.ts';
import { deriveKeys, formatKeys, parseKeys } from './process-keys.ts';

const OLD = 'the old secret, which is long enough';
const NEW = 'the new secret, which is long enough';
const NOW = Date.UTC(2026, 0, 1);
const ring = new SecretRing([OLD]);
const PRINCIPAL: Principal = {
  keyId: '900000000000000001-1',
  keyPrefix: 'service_900000000000000001_abcdef',
  guildId: '900000000000000001',
  scopes: ['lookup:read'],
  legacy: false,
  requestId: 'request-1',
};
const REQUEST: SignedRequest = { audience: 'lookup', method: 'GET', target: '/api/v1/lookup/game/1?x=1' };
const MISSING = expect.objectContaining({ code: 'MISSING_API_KEY' });

test('a principal is valid for the request that it was signed for, for 30 s with 5 s of clock leeway', () => {
  const signed = signPrincipal(ring, PRINCIPAL, REQUEST, NOW);
  for (const now of [NOW, NOW - 5_000, NOW + 35_000])
    expect(verifyPrincipal(ring, signed, REQUEST, now)).toEqual(PRINCIPAL);
  for (const now of [NOW - 5_001, NOW + 35_001]) {
    expect(() => verifyPrincipal(ring, signed, REQUEST, now)).toThrow(MISSING);
  }
});

test('a legacy principal keeps its null scopes', () => {
  const legacy = { ...PRINCIPAL, scopes: null, legacy: true };
  expect(verifyPrincipal(ring, signPrincipal(ring, legacy, REQUEST, NOW), REQUEST, NOW)).toEqual(legacy);
});

test.each([[[]], [['a']], [['ab']], [['abc']], [['é', '"']], [['lookup:read', 'members:read']]])(
  'a signed principal contains the scopes %j',
  (scopes) => {
    const principal = { ...PRINCIPAL, scopes };
    expect(verifyPrincipal(ring, signPrincipal(ring, principal, REQUEST, NOW), REQUEST, NOW)).toEqual(principal);
  },
);

test.each([
  ['method', { method: 'HEAD' }],
  ['path', { target: '/api/v1/lookup/game/2?x=1' }],
  ['query', { target: '/api/v1/lookup/game/1?x=2' }],
  ['service', { audience: 'members' }],
])('a principal is not valid for another %s', (_what, other) => {
  const signed = signPrincipal(ring, PRINCIPAL, REQUEST, NOW);
  expect(() => verifyPrincipal(ring, signed, { ...REQUEST, ...other }, NOW)).toThrow(MISSING);
});

test('a principal with another guild, an added part or a damaged signature is not valid', () => {
  const [payload = '', mac = ''] = signPrincipal(ring, PRINCIPAL, REQUEST, NOW).split('.');
  const changed = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), guildId: '900000000000000002' };
  const forged = Buffer.from(JSON.stringify(changed)).toString('base64url');
  const damagedMac = (mac.startsWith('A') ? 'B' : 'A') + mac.slice(1);
  const wrong = [
    undefined,
    '',
    '.',
    payload,
    `${payload}.`,
    `.${mac}`,
    `${forged}.${mac}`,
    `${payload}.${damagedMac}`,
    `${payload}.${mac.slice(2)}`,
    `${payload}.${mac}.${mac}`,
    `${payload}.${mac}, ${payload}.${mac}`,
    `${payload} .${mac}`,
  ];
  for (const header of wrong) expect(() => verifyPrincipal(ring, header, REQUEST, NOW)).toThrow(MISSING);
});

test('secrets rotate without an interruption: both verify while both are known, the newest signs', () => {
  const [both, newest] = [new SecretRing([NEW, OLD]), new SecretRing([NEW])];
  expect(verifyPrincipal(both, signPrincipal(ring, PRINCIPAL, REQUEST, NOW), REQUEST, NOW)).toEqual(PRINCIPAL);
  const signed = signPrincipal(both, PRINCIPAL, REQUEST, NOW);
  expect(verifyPrincipal(newest, signed, REQUEST, NOW)).toEqual(PRINCIPAL);
  expect(() => verifyPrincipal(ring, signed, REQUEST, NOW)).toThrow(MISSING);
});

test('a call token is valid for one method of one service, 30 s either way, with a known secret', () => {
  const method = '/guild.auth.v1.AuthService/Verify';
  const token = createCallToken(ring, { caller: 'gateway', audience: 'auth', method }, NOW);
  const open = (given: string, called = { audience: 'auth', method }, now = NOW, by = ring) =>
    verifyCallToken({ ring: by, names: new Set(['gateway', 'bindings']) }, given, called, now);
  expect(open(token)).toBe('gateway');
  expect([NOW - 30_000, NOW + 30_000].map((now) => open(token, undefined, now))).toEqual(['gateway', 'gateway']);
  expect([NOW - 30_001, NOW + 30_001].map((now) => open(token, undefined, now))).toEqual([undefined, undefined]);
  expect(open(token, { audience: 'auth', method: '/guild.auth.v1.AuthService/Watch' })).toBeUndefined();
  expect(open(token, { audience: 'lookup', method })).toBeUndefined();
  expect(open(token, undefined, NOW, new SecretRing([NEW]))).toBeUndefined();
  expect(open(token, undefined, NOW, new SecretRing([NEW, OLD]))).toBe('gateway');
  const [payload = '', mac = ''] = token.split('.');
  for (const damaged of ['', '.', payload, `${payload}.`, `x${payload}.${mac}`, `${payload}.${mac.slice(4)}`]) {
    expect(open(damaged)).toBeUndefined();
  }
});

test('a token must be signed with the key of the caller that it names', () => {
  const [method, audience] = ['/guild.lookup.v1.LookupService/GetLinks', 'lookup'];
  const names = new Set(['gateway', 'bindings']);
  const token = createCallToken(ring, { caller: 'bindings', audience, method }, NOW);
  const [payload = '', mac = ''] = token.split('.');
  const contents = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  const open = (given: string, allowed = names) =>
    verifyCallToken({ ring, names: allowed }, given, { audience, method }, NOW);
  const claim = (claimed: unknown) => Buffer.from(JSON.stringify(claimed)).toString('base64url');
  expect(open(token)).toBe('bindings');
  expect(open(token, new Set(['gateway']))).toBeUndefined();
  for (const claimed of [{ ...contents, caller: 'gateway' }, { ...contents, caller: 7 }, null, [], 'bindings']) {
    expect(open(`${claim(claimed)}.${mac}`)).toBeUndefined();
    // Even if it is signed again with the key of its first signer.
    expect(open(`${claim(claimed)}.${ring.macText('call:bindings:lookup', claim(claimed))}`)).toBeUndefined();
  }
  expect(open(`${payload}.${mac}.${mac}`)).toBeUndefined();
});

test('derived keys replace the root secrets for their purposes, and have no key for any other', () => {
  const roots = { internal: [NEW, OLD], admin: ['a secret of operators, long enough'] };
  const keys = new ProcessKeys(parseKeys(formatKeys(deriveKeys(['principal:lookup', 'idempotency'], roots))));
  expect(keys.purposes).toEqual(['principal:lookup', 'idempotency']);
  // The derived keys read what a deployment with these root secrets has stored and signed so far.
  expect(keys.decrypt('idempotency', ring.encrypt('idempotency', 'stored'))).toBe('stored');
  expect(verifyPrincipal(keys, signPrincipal(ring, PRINCIPAL, REQUEST, NOW), REQUEST, NOW)).toEqual(PRINCIPAL);
  expect(keys.mac('idempotency', 'data')).toEqual(new SecretRing([NEW]).mac('idempotency', 'data'));
  expect(() => keys.mac('principal:members', 'data')).toThrow('this process has no key for principal:members');
});

test.each([
  ['nothing', ''],
  ['a purpose without a key', 'call:a:b'],
  ['an empty key', 'call:a:b='],
  ['a key of another length', `call:a:b=${'A'.repeat(42)}`],
  ['a key that is not base64url', `call:a:b=${'*'.repeat(43)}`],
  ['three keys', `call:a:b=${Array.from({ length: 3 }, () => 'A'.repeat(43)).join('.')}`],
  ['one purpose twice', `a=${'A'.repeat(43)},a=${'A'.repeat(43)}`],
  ['root secrets', 'a secret of thirty-two bytes or more'],
])('keys cannot be parsed from %s, and the error contains no key', (_what, text) => {
  expect(() => parseKeys(text)).toThrow(/^must (?!.*AAAA)/);
});

test('each purpose has its own key, and encrypting the same text twice gives different results', () => {
  expect(ring.mac('a', 'data')).not.toEqual(ring.mac('b', 'data'));
  expect(ring.verifies('a', 'data', ring.mac('a', 'data'))).toBe(true);
  expect(ring.verifies('b', 'data', ring.mac('a', 'data'))).toBe(false);
  expect(ring.verifies('a', 'data', Buffer.alloc(0))).toBe(false);
  expect(new SecretRing([NEW, OLD]).macs('a', 'data')[1]).toEqual(ring.mac('a', 'data'));
  expect(ring.encrypt('a', 'text')).not.toEqual(ring.encrypt('a', 'text'));
});

test('an encrypted text decrypts for its purpose, also after a secret was rotated, and not if damaged', () => {
  const encrypted = ring.encrypt('a', 'tökén');
  expect(ring.decrypt('a', encrypted)).toBe('tökén');
  expect(new SecretRing([NEW, OLD]).decrypt('a', encrypted)).toBe('tökén');
  for (let place = 0; place < encrypted.length; place++) {
    const damaged = Buffer.from(encrypted);
    damaged[place] = (damaged[place] ?? 0) ^ 1;
    expect(() => ring.decrypt('a', damaged)).toThrow('none of the keys decrypts this');
  }
  for (const wrong of [encrypted.subarray(0, 20), Buffer.alloc(0)]) {
    expect(() => ring.decrypt('a', wrong)).toThrow('none of the keys decrypts this');
  }
  expect(() => ring.decrypt('b', encrypted)).toThrow('none of the keys decrypts this');
  expect(() => new SecretRing([NEW]).decrypt('a', encrypted)).toThrow('none of the keys decrypts this');
});

test('a ring cannot be created without a secret', () => {
  expect(() => new SecretRing([])).toThrow('a secret is required');
});
