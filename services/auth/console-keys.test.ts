import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { startTestAuth, type TestAuth, verifyKeys } from '#test/system/auth.ts';
import { ADDRESS, callerOf, connectConsole, newGuild, type TestConsole } from './fixtures/console.ts';

let database: TestDatabase;
let auth: TestAuth;
let person: TestConsole;

beforeAll(async () => {
  database = await createTestDatabase();
  auth = await startTestAuth({ databaseUrl: database.url });
  person = connectConsole(auth);
});
afterAll(async () => {
  person.close();
  await auth.stop();
  await database.drop();
});

const keyOf = (guildId: string, changes = {}) => ({
  guildId,
  name: 'Servers',
  legacy: false,
  scopes: ['lookup:read'],
  ipAllowlist: [],
  actor: 'somebody else',
  ...changes,
});

test('a person creates, changes, rotates and revokes a key of their guild', async () => {
  const guildId = newGuild();
  const caller = callerOf(await person.signIn(guildId, 'admin'));
  const { key, secret } = await person.client.createGuildKey({ caller, key: keyOf(guildId) });
  const keyId = key?.id ?? '';
  expect(await verifyKeys(auth, secret)).toMatchObject([{ keyId, scopes: ['lookup:read'] }]);
  await person.client.updateGuildKey({ caller, key: { keyId, rateLimit: 60, actor: '' } });
  const rotated = await person.client.rotateGuildKey({ caller, key: { keyId, graceSeconds: 0, actor: '' } });
  expect(await verifyKeys(auth, secret, rotated.secret)).toMatchObject([undefined, { keyId, rateLimit: 60 }]);
  await person.client.revokeGuildKey({ caller, key: { keyId, actor: '' } });
  expect(await verifyKeys(auth, rotated.secret)).toEqual([undefined]);
  const { keys } = await person.client.listGuildKeys({ caller, guildId, limit: 0, cursor: '' });
  expect(keys).toMatchObject([{ id: keyId, revokedAt: expect.any(Number) }]);
});

test('a key of another guild can be neither listed nor changed', async () => {
  const [guildId, other] = [newGuild(), newGuild()];
  const caller = callerOf(await person.signIn(guildId));
  const owner = callerOf(await person.signIn(other));
  const { key } = await person.client.createGuildKey({ caller: owner, key: keyOf(other) });
  const keyId = key?.id ?? '';
  const calls = [
    () => person.client.createGuildKey({ caller, key: keyOf(other) }),
    () => person.client.listGuildKeys({ caller, guildId: other, limit: 0, cursor: '' }),
    () => person.client.updateGuildKey({ caller, key: { keyId, name: 'mine', actor: '' } }),
    () => person.client.rotateGuildKey({ caller, key: { keyId, graceSeconds: 0, actor: '' } }),
    () => person.client.revokeGuildKey({ caller, key: { keyId, actor: '' } }),
    () => person.client.listGuildAudit({ caller, guildId: other, limit: 0, cursor: '' }),
  ];
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'ROLE_TOO_LOW' });
});

test('a person cannot create a legacy key, which would have all scopes', async () => {
  const guildId = newGuild();
  const caller = callerOf(await person.signIn(guildId));
  const { key, secret } = await person.client.createGuildKey({
    caller,
    key: keyOf(guildId, { legacy: true, scopes: [] }),
  });
  expect(key).toMatchObject({ legacy: false, scopes: [] });
  expect(await verifyKeys(auth, secret)).toMatchObject([{ legacy: false, scopes: [] }]);
});

test('each change of a key is in the audit with the person, and as an event of the console', async () => {
  const guildId = newGuild();
  const caller = callerOf(await person.signIn(guildId, 'admin'));
  const { person: own } = await person.client.getSession({ caller });
  const { key } = await person.client.createGuildKey({ caller, key: keyOf(guildId) });
  const keyId = key?.id ?? '';
  await person.client.updateGuildKey({ caller, key: { keyId, name: 'Lobby', actor: '' } });
  const { entries } = await person.client.listGuildAudit({ caller, guildId, limit: 2, cursor: '' });
  const who = { person: { id: own?.id, role: 'admin' }, address: ADDRESS, request_id: 'request-1' };
  expect(entries.map((entry) => ({ ...entry, details: JSON.parse(entry.details) as object }))).toMatchObject([
    {
      actor: 'console',
      action: 'update',
      keyId,
      details: { ...who, before: { name: 'Servers' }, after: { name: 'Lobby' } },
    },
    { actor: 'console', action: 'create', keyId, details: { ...who, name: 'Servers', scopes: ['lookup:read'] } },
  ]);
  const events = await databaseRows<{ type: string; source: object }>(
    database.url,
    `SELECT type, source FROM auth.events WHERE guild_id = '${guildId}' ORDER BY number`,
  );
  const source = expect.objectContaining({ kind: 'console', id: own?.id });
  expect(events).toEqual([
    { type: 'key.created', source },
    { type: 'key.changed', source },
  ]);
});
