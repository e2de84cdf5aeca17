// What an attacker can do who has everything that the console process has, but no session of a person.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { GrpcChannel, isGrpcFailure } from '#kit/grpc/client.ts';
import type { DefinitionShape } from '#kit/grpc/definition.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { ProcessKeys } from '#kit/security/keyring.ts';
import { internalKeysOf, parseKeys } from '#kit/security/process-keys.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { AuthServiceService } from '#proto/gen/guild/auth/v1/auth.ts';
import { ConsoleAdminServiceService, ConsoleServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import { OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { ADMIN_SECRET, createKey, INTERNAL_SECRET, startTestAuth, type TestAuth } from '#test/system/auth.ts';
import { callerOf, newGuild } from './fixtures/console.ts';

const GUILD = newGuild();
const closers: (() => void)[] = [];
let database: TestDatabase;
let auth: TestAuth;

beforeAll(async () => {
  database = await createTestDatabase();
  auth = await startTestAuth({ databaseUrl: database.url });
});
afterAll(async () => {
  for (const close of closers) close();
  await auth.stop();
  await database.drop();
});

/** A connection to auth with the keys of the console. */
function connect(): GrpcChannel {
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  const channel = new GrpcChannel({
    caller: 'console',
    audience: 'auth',
    address: auth.address,
    ring: new ProcessKeys(parseKeys(internalKeysOf('console', { internal: [INTERNAL_SECRET], admin: [ADMIN_SECRET] }))),
    clock: systemClock,
    metrics,
    breaker: breakers.create('auth', isGrpcFailure),
  });
  closers.push(() => {
    channel.close();
    breakers.stop();
  });
  return channel;
}

type Method = (request: never) => Promise<unknown>;

test('without the token of a session no method reads or changes anything of a guild', async () => {
  const { key: stored } = await createKey(auth, { guildId: GUILD });
  const keyId = stored.id;
  const chatId = '920000000000000001';
  const anything = {
    caller: callerOf('A'.repeat(43)),
    guildId: GUILD,
    method: 'GET',
    target: `/api/v1/guilds/${GUILD}/roles`,
    chatId,
    role: 'owner',
    limit: 0,
    cursor: '',
    sessionId: '',
    all: true,
    dryRun: false,
    key: { keyId, guildId: GUILD, name: '', scopes: [], ipAllowlist: [], legacy: false, graceSeconds: 0, actor: '' },
    sessions: [{ sessionToken: 'A'.repeat(43), guildId: GUILD }],
    provider: 'chat',
    query: 'code=x&state=y',
    browserSecret: 'x',
    returnTo: '/',
    linkToken: `${GUILD}_${'A'.repeat(43)}`,
    address: '203.0.113.7',
    userAgent: '',
  };
  const methods = Object.entries(connect().methods(ConsoleServiceService));
  const results = await Promise.all(
    methods.map(async ([name, call]) => {
      const key = name === 'updateGuildKey' ? { keyId, name: '', actor: '' } : anything.key;
      const result = await (call as Method)({ ...anything, key } as never).catch(({ code }: { code: string }) => code);
      return [name, result];
    }),
  );
  expect(Object.fromEntries(results)).toEqual({
    ...Object.fromEntries(methods.map(([name]) => [name, 'NOT_SIGNED_IN'])),
    listProviders: { providers: [] },
    startSignIn: 'INVALID_REQUEST',
    finishSignIn: 'INVALID_REQUEST',
    // People who join have no session; the guild has not turned this on.
    startJoin: 'NOT_APPLICABLE',
    finishJoin: 'NOT_APPLICABLE',
    useLink: 'NOT_FOUND',
    checkSessions: { roles: [''] },
  });
});

test.each([
  ['AuthService', AuthServiceService],
  ['KeyAdminService', KeyAdminServiceService],
  ['OperatorAdminService', OperatorAdminServiceService],
  ['ConsoleAdminService', ConsoleAdminServiceService],
])('no method of %s is open to the console', async (_name, definition) => {
  // An empty request: calls are rejected before requests are read.
  const empty = Object.entries(definition).map(([name, method]) => [
    name,
    { ...method, responseStream: false, requestSerialize: () => Buffer.alloc(0) },
  ]);
  expect(empty.length).toBeGreaterThan(0);
  for (const [name] of empty) {
    // Rejected calls open the circuit breaker of a channel.
    const methods = connect().methods(Object.fromEntries(empty) as DefinitionShape);
    await expect((methods[name as string] as Method)({} as never)).rejects.toMatchObject({ cause: { code: 16 } });
  }
});
