import { expect, test } from 'vitest';
import { createCallToken, verifyCallToken } from '#kit/grpc/call-token.ts';
import { ProcessKeys } from '#kit/security/keyring.ts';
import { signPrincipal, verifyPrincipal } from '#kit/security/principal.ts';
import { deriveKeys, internalKeysOf, parseKeys } from '#kit/security/process-keys.ts';
import { KEY_HOLDERS, OPERATORS, purposesOf } from '#kit/security/purposes.ts';
import { PROCESSES } from '#proto/processes.ts';

const ROOTS = {
  internal: ['the internal root secret of these tests'],
  admin: ["the operators' root secret of these tests"],
};
const SERVICES = Object.keys(PROCESSES);
const NOW = Date.UTC(2026, 0, 1);
const keysOf = (name: string) => parseKeys(internalKeysOf(name, ROOTS));

test('each process has the keys of its own calls, principals and stored data, and no others', () => {
  expect(Object.fromEntries(KEY_HOLDERS.map((name) => [name, [...keysOf(name).keys()]]))).toEqual({
    auth: [
      'principal:auth',
      'principal:lookup',
      'principal:bindings',
      'principal:members',
      'principal:activity',
      'principal:moderation',
      'principal:events',
      'call:auth:lookup',
      'call:auth:bindings',
      'call:auth:members',
      'call:auth:activity',
      'call:auth:moderation',
      'call:auth:events',
      'call:gateway:auth',
      'call:console:auth',
      'audit-checkpoint',
      'console-credentials',
      'interaction-token',
      'call:operators:auth',
      'ticket:lookup',
      'ticket:bindings',
      'ticket:members',
      'ticket:activity',
      'ticket:moderation',
      'ticket:events',
      'ticket:gateway',
      'ticket:console',
    ],
    lookup: [
      'principal:lookup',
      'call:lookup:events',
      'call:auth:lookup',
      'call:bindings:lookup',
      'call:members:lookup',
      'call:activity:lookup',
      'call:moderation:lookup',
      'call:operators:lookup',
      'ticket:lookup',
    ],
    bindings: [
      'principal:bindings',
      'call:bindings:lookup',
      'call:bindings:events',
      'call:auth:bindings',
      'call:members:bindings',
      'idempotency',
      'call:operators:bindings',
      'ticket:bindings',
    ],
    members: [
      'principal:members',
      'call:members:lookup',
      'call:members:bindings',
      'call:members:events',
      'call:auth:members',
      'call:activity:members',
      'call:moderation:members',
      'idempotency',
      'verification-token',
      'call:operators:members',
      'ticket:members',
    ],
    activity: [
      'principal:activity',
      'call:activity:lookup',
      'call:activity:members',
      'call:activity:events',
      'call:auth:activity',
      'call:moderation:activity',
      'idempotency',
      'call:operators:activity',
      'ticket:activity',
    ],
    moderation: [
      'principal:moderation',
      'call:moderation:lookup',
      'call:moderation:members',
      'call:moderation:activity',
      'call:moderation:events',
      'call:auth:moderation',
      'idempotency',
      'call:operators:moderation',
      'ticket:moderation',
    ],
    events: [
      'principal:events',
      'call:auth:events',
      'call:lookup:events',
      'call:bindings:events',
      'call:members:events',
      'call:activity:events',
      'call:moderation:events',
      'idempotency',
      'webhook-secret',
      'call:operators:events',
      'ticket:events',
    ],
    gateway: [
      'principal:auth',
      'principal:lookup',
      'principal:bindings',
      'principal:members',
      'principal:activity',
      'principal:moderation',
      'principal:events',
      'call:gateway:auth',
      'call:operators:gateway',
      'ticket:gateway',
    ],
    console: ['call:console:auth', 'call:operators:console', 'ticket:console'],
    guildctl: SERVICES.map((name) => `call:operators:${name}`),
  });
});

test('no two purposes have the same key', () => {
  const purposes = [...new Set(KEY_HOLDERS.flatMap((name) => purposesOf(name) ?? []))];
  const keys = [...deriveKeys(purposes, ROOTS).values()].map(([key]) => key?.toString('hex'));
  expect(new Set(keys).size).toBe(purposes.length);
});

/** Everything that a process can sign with any of its keys and that another process accepts. */
function forgeries(holder: string): string[] {
  const bytes = [...keysOf(holder).values()].flat();
  const accepted = new Set<string>();
  for (const audience of SERVICES.filter((name) => name !== holder)) {
    const ring = new ProcessKeys(keysOf(audience));
    // Uses each of its keys in place of the required one.
    const signers = bytes.map((key) => (purpose: string) => new ProcessKeys(new Map([[purpose, [key]]])));
    for (const signer of signers) {
      for (const caller of [...KEY_HOLDERS, OPERATORS]) {
        const call = { caller, audience, method: '/x.Y/Z' };
        const token = createCallToken(signer(`call:${caller}:${audience}`), call, NOW);
        const names = new Set(
          [...KEY_HOLDERS, OPERATORS].filter((name) => ring.purposes.includes(`call:${name}:${audience}`)),
        );
        if (verifyCallToken({ ring, names }, token, call, NOW) !== undefined)
          accepted.add(`calls ${audience} as ${caller}`);
      }
      if (!ring.purposes.includes(`principal:${audience}`)) continue;
      const request = { audience, method: 'GET', target: '/' };
      const principal = { keyId: '1', keyPrefix: '1', guildId: '1', scopes: null, legacy: true, requestId: '1' };
      const signed = signPrincipal(signer(`principal:${audience}`), principal, request, NOW);
      try {
        verifyPrincipal(ring, signed, request, NOW);
        accepted.add(`signs principals for ${audience}`);
      } catch {
        // Rejected.
      }
    }
  }
  return [...accepted].toSorted();
}

test.each([
  [
    'auth',
    [
      ...PROCESSES.auth.calls.map((name) => `calls ${name} as auth`),
      ...PROCESSES.auth.calls.map((name) => `signs principals for ${name}`),
    ].toSorted(),
  ],
  ['lookup', ['calls events as lookup']],
  ['bindings', ['calls events as bindings', 'calls lookup as bindings']],
  ['members', ['calls bindings as members', 'calls events as members', 'calls lookup as members']],
  ['activity', ['calls events as activity', 'calls lookup as activity', 'calls members as activity']],
  [
    'moderation',
    [
      'calls activity as moderation',
      'calls events as moderation',
      'calls lookup as moderation',
      'calls members as moderation',
    ],
  ],
  ['events', []],
  [
    'gateway',
    ['calls auth as gateway', ...PROCESSES.gateway.signs.map((name) => `signs principals for ${name}`)].toSorted(),
  ],
  // The console can only call auth, which does nothing for it without the token of a session.
  ['console', ['calls auth as console']],
  ['guildctl', SERVICES.map((name) => `calls ${name} as operators`).toSorted()],
])('an attacker who has the environment of %s is accepted only for %j', (holder, accepted) => {
  expect(forgeries(holder)).toEqual(accepted);
});
