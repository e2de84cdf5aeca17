import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { GrpcChannel, type GrpcClient, isGrpcFailure } from '#kit/grpc/client.ts';
import type { DefinitionShape } from '#kit/grpc/definition.ts';
import {
  createTicket,
  digestOf,
  makeCredential,
  OPERATOR_HEADER,
  readCredential,
  signCall,
  TICKET_HEADER,
} from '#kit/grpc/operators.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { SecretRing } from '#kit/security/keyring.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import { ShieldAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { moderationService } from '#services/moderation/service.ts';
import { connect, connectWith, type Headers } from '#test/network/grpc.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { ADMIN_SECRET, INTERNAL_SECRET, startTestAuth, type TestAuth } from '#test/system/auth.ts';
import { testKeys } from '#test/system/keys.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import type { Role } from './roles.ts';

const GUILD = '900000000000000001';
// The error that gRPC returns before it reads the request.
const UNAUTHENTICATED = { cause: { code: 16 } };
const ADD_ENTRY = ShieldAdminServiceService.addEntry;

let database: TestDatabase;
let auth: TestAuth;
let moderation: RunningService;
let root: GrpcClient<typeof OperatorAdminServiceService>;
const closers: (() => void)[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  auth = await startTestAuth({ databaseUrl: database.url });
  const keys = testKeys({ internal: [INTERNAL_SECRET], admin: [ADMIN_SECRET] });
  const environment = { ...testEnvironment(database.url), INTERNAL_KEYS: keys, ACTIVITY_GRPC_ADDRESS: '127.0.0.1:1' };
  moderation = await startService(moderationService, environment);
  const connection = connect(OperatorAdminServiceService, 'auth', auth.address, undefined, [ADMIN_SECRET]);
  ({ client: root } = connection);
  closers.push(connection.close);
});
afterAll(async () => {
  for (const close of closers) close();
  await moderation.stop();
  await auth.stop();
  await database.drop();
});

/** A client that sends the given headers. */
function channel<Definition extends DefinitionShape>(
  definition: Definition,
  service: string,
  address: string,
  headers: Headers,
): GrpcClient<Definition> {
  const { client, close } = connectWith(definition, service, address, headers);
  closers.push(close);
  return client;
}

/** A client of auth that calls with an operator's credential. */
function as<Definition extends DefinitionShape>(definition: Definition, text: string): GrpcClient<Definition> {
  const credential = readCredential(text) as NonNullable<ReturnType<typeof readCredential>>;
  return channel(definition, 'auth', auth.address, async (method, request) => ({
    [OPERATOR_HEADER]: signCall(credential, { service: 'auth', method, digest: digestOf(request) }, systemClock.now()),
  }));
}

async function add(name: string, role: Role): Promise<string> {
  const credential = makeCredential(name, randomBytes);
  const publicKey = readCredential(credential)?.publicKey ?? Buffer.alloc(0);
  await root.addOperator({ name, role, publicKey, note: '' });
  return credential;
}

/** A client of moderation that calls with the given ticket. */
const withTicket = (ticket: string) =>
  channel(ShieldAdminServiceService, 'moderation', moderation.addresses.grpc ?? '', async () => ({
    [TICKET_HEADER]: ticket,
  }));

const entry = (gameId: number) => ({ guildId: GUILD, gameId, reason: 'Cheats', category: 'exploiter', actor: 'x' });
const bytesOf = (request: ReturnType<typeof entry>) => ADD_ENTRY.requestSerialize(request);

async function audit(guildId: string) {
  const isInstallation = guildId === '';
  return (await auth.admin.listAudit({ guildId, isInstallation, limit: 0, cursor: '' })).entries;
}

const authorize = (credential: string, request: Buffer, method: string = ADD_ENTRY.path, service = 'moderation') =>
  as(OperatorAdminServiceService, credential).authorize({ service, method, request, note: 'asked by Ben' });

describe('roles', () => {
  test('each role can call the methods that the table of roles lists for it, and no others', async () => {
    const credentials = new Map<Role, string>();
    const roles = ['viewer', 'support', 'admin', 'owner'] as const;
    for (const role of roles) credentials.set(role, await add(`r-${role}`, role));
    const may = async (role: Role) => {
      const credential = credentials.get(role) ?? '';
      const keys = as(KeyAdminServiceService, credential);
      const operators = as(OperatorAdminServiceService, credential);
      const calls = {
        read: () => keys.listKeys({ guildId: GUILD, limit: 0, cursor: '' }),
        flag: () => authorize(credential, bytesOf(entry(1))),
        create: () =>
          keys.createKey({ guildId: GUILD, name: '', legacy: true, scopes: [], ipAllowlist: [], actor: '' }),
        operators: () => operators.revokeOperator({ name: 'nobody-here', note: '' }),
      };
      const results = [];
      for (const [name, call] of Object.entries(calls)) {
        const error = await call().then(
          () => undefined,
          (thrown: { code: string }) => thrown.code,
        );
        if (error === undefined || error === 'NOT_FOUND') results.push(name);
        else if (error !== 'MISSING_SCOPE') results.push(`${name}: ${error}`);
      }
      return results;
    };
    expect(await may('viewer')).toEqual(['read']);
    expect(await may('support')).toEqual(['read', 'flag']);
    expect(await may('admin')).toEqual(['read', 'flag', 'create']);
    expect(await may('owner')).toEqual(['read', 'flag', 'create', 'operators']);
  });

  test('no operator can call a method that the table of roles does not list', async () => {
    const credential = await add('curious', 'owner');
    await expect(authorize(credential, Buffer.alloc(0), '/guild.x.v1.Y/Z')).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    await expect(authorize(credential, bytesOf(entry(1)), ADD_ENTRY.path, 'lookup')).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });
});

test('the actor in the audit is the operator of the credential, even if the request names somebody else', async () => {
  const credential = await add('mallory', 'admin');
  const { key } = await as(KeyAdminServiceService, credential).createKey({
    guildId: GUILD,
    name: 'x',
    legacy: true,
    scopes: [],
    ipAllowlist: [],
    actor: 'somebody else',
  });
  const [created] = await audit(GUILD);
  expect(created).toMatchObject({ actor: 'mallory', action: 'create', keyId: key?.id, service: 'auth' });
  expect(JSON.parse(created?.details ?? '')).toMatchObject({ note: 'somebody else' });
});

const ADDED = { game_id: 7001, reason: 'Cheats', category: 'exploiter', note: 'asked by Ben' };
test('a change in another service is in the audit, with the fields of the request, before it can be made', async () => {
  const credential = await add('grace', 'support');
  const request = entry(7001);
  const { ticket, operator } = await authorize(credential, bytesOf(request));
  expect(operator).toBe('grace');
  const [row] = await audit(GUILD);
  expect(row).toMatchObject({ actor: 'grace', service: 'moderation', action: 'AddEntry', method: ADD_ENTRY.path });
  expect(JSON.parse(row?.details ?? '')).toEqual({
    ...ADDED,
    address: '127.0.0.1',
    request_id: expect.any(String),
  });
  const added = await withTicket(ticket).addEntry(request);
  expect(added.entry).toMatchObject({ gameId: 7001, actor: 'grace' });
});

test('a change is rejected if its audit entry cannot be written', async () => {
  const credential = await add('unwritten', 'support');
  await databaseRows(
    database.url,
    `ALTER TABLE auth.audit ADD CONSTRAINT no_entries CHECK (actor <> 'unwritten') NOT VALID`,
  );
  try {
    await expect(authorize(credential, bytesOf(entry(7002)))).rejects.toMatchObject({ code: 'INTERNAL' });
  } finally {
    await databaseRows(database.url, 'ALTER TABLE auth.audit DROP CONSTRAINT no_entries');
  }
});

describe('a ticket is valid only for', () => {
  test('this request, this method, this service', async () => {
    const credential = await add('heidi', 'support');
    const { ticket } = await authorize(credential, bytesOf(entry(8001)));
    const shield = withTicket(ticket);
    await expect(shield.addEntry(entry(8002))).rejects.toMatchObject({ code: 'MISSING_API_KEY' });
    await expect(shield.removeEntry({ guildId: GUILD, gameId: 8001, actor: 'x' })).rejects.toMatchObject(
      UNAUTHENTICATED,
    );
    await expect(shield.listEntries({ guildId: GUILD, limit: 1, afterGameId: 0 })).rejects.toMatchObject(
      UNAUTHENTICATED,
    );
    const [payload = '', mac = ''] = ticket.split('.');
    const decoded = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const renamed = Buffer.from(JSON.stringify({ ...decoded, operator: 'root' })).toString('base64url');
    await expect(withTicket(`${renamed}.${mac}`).addEntry(entry(8001))).rejects.toMatchObject(UNAUTHENTICATED);
    expect((await withTicket(ticket).addEntry(entry(8001))).entry?.actor).toBe('heidi');
  });

  test('30 seconds', async () => {
    const request = entry(8003);
    const call = {
      service: 'moderation',
      method: ADD_ENTRY.path,
      operator: 'root',
      digest: digestOf(bytesOf(request)),
    };
    const ring = new SecretRing([ADMIN_SECRET]);
    const late = createTicket(ring, call, Date.now() - 31_000);
    await expect(withTicket(late).addEntry(request)).rejects.toMatchObject(UNAUTHENTICATED);
    expect((await withTicket(createTicket(ring, call, Date.now() - 20_000)).addEntry(request)).entry?.actor).toBe(
      'root',
    );
  });
});

test('a service rejects call tokens for administrative methods, even one that is derived from ADMIN_SECRETS', async () => {
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  const tokens = new GrpcChannel({
    caller: 'operators',
    audience: 'moderation',
    address: moderation.addresses.grpc ?? '',
    ring: new SecretRing([ADMIN_SECRET]),
    clock: systemClock,
    metrics,
    deadlineMs: 20_000,
    breaker: breakers.create('moderation', isGrpcFailure),
  });
  await expect(tokens.methods(ShieldAdminServiceService).addEntry(entry(1))).rejects.toMatchObject(UNAUTHENTICATED);
  tokens.close();
  breakers.stop();
});

describe('credentials', () => {
  test('revoking a credential takes effect with the next call, and can be repeated', async () => {
    const credential = await add('ivan', 'admin');
    const keys = as(KeyAdminServiceService, credential);
    await keys.listKeys({ guildId: GUILD, limit: 0, cursor: '' });
    const { operator } = await root.revokeOperator({ name: 'ivan', note: 'left' });
    expect(operator?.revokedAt).toEqual(expect.any(Number));
    await expect(keys.listKeys({ guildId: GUILD, limit: 0, cursor: '' })).rejects.toMatchObject({
      code: 'INVALID_API_KEY',
    });
    await expect(authorize(credential, bytesOf(entry(1)))).rejects.toMatchObject({ code: 'INVALID_API_KEY' });
    expect((await root.revokeOperator({ name: 'ivan', note: '' })).operator).toEqual(operator);
    expect((await audit('')).filter(({ details }) => details.includes('ivan')).map(({ action }) => action)).toEqual([
      'revoke_operator',
      'add_operator',
    ]);
  });

  test('a credential with a known name and another secret is rejected', async () => {
    await add('judy', 'owner');
    const forged = makeCredential('judy', randomBytes);
    await expect(authorize(forged, bytesOf(entry(1)))).rejects.toMatchObject({ code: 'INVALID_API_KEY' });
    await expect(authorize(makeCredential('unknown', randomBytes), bytesOf(entry(1)))).rejects.toMatchObject({
      code: 'INVALID_API_KEY',
    });
  });

  test('a signature is valid for one request only', async () => {
    const credential = readCredential(await add('kim', 'admin'));
    if (!credential) throw new Error('not a credential');
    const other = { service: 'auth', digest: digestOf(Buffer.from('another request')) };
    const keys = channel(KeyAdminServiceService, 'auth', auth.address, async (method) => ({
      [OPERATOR_HEADER]: signCall(credential, { ...other, method }, systemClock.now()),
    }));
    await expect(keys.revokeGuildKeys({ guildId: GUILD, actor: '' })).rejects.toMatchObject({
      code: 'INVALID_API_KEY',
    });
  });

  test('a name is assigned only once, and never root', async () => {
    await add('lena', 'viewer');
    await root.revokeOperator({ name: 'lena', note: '' });
    await expect(add('lena', 'owner')).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(add('root', 'owner')).rejects.toMatchObject({ code: 'CONFLICT' });
    const { operators } = await root.listOperators({ limit: 1_000, cursor: '' });
    expect(operators.map(({ name }) => name)).not.toContain('root');
    expect(operators.find(({ name }) => name === 'lena')).toMatchObject({ role: 'viewer', createdBy: 'root' });
  });

  test('neither the database nor the log contains a credential', async () => {
    const credential = await add('nina', 'viewer');
    await as(KeyAdminServiceService, credential).listKeys({ guildId: GUILD, limit: 0, cursor: '' });
    const rows = await databaseRows(database.url, `SELECT name, encode(public_key, 'escape') FROM auth.operators`);
    expect(JSON.stringify(rows) + auth.log.join('')).not.toContain(credential.slice('operator_nina_'.length));
  });
});
