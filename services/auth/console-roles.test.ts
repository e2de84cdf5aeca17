// The matrix of roles and requests: each cell is checked with the session of a person with that role.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiError } from '#kit/errors.ts';
import { CONSOLE_ACTIONS, type ConsoleAction, GUILD_ROLES, type GuildRole } from '#proto/console/roles.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { API_PREFIX, type Route } from '#proto/rest/route.ts';
import type { Scope } from '#proto/rest/scopes.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { startTestAuth, type TestAuth } from '#test/system/auth.ts';
import { callerOf, connectConsole, newGuild, type TestConsole } from './fixtures/console.ts';

/** The lowest role that may call routes with each scope; `nobody` for what only game servers do. */
const ROLE_OF_SCOPE: Record<Scope, GuildRole | 'nobody'> = {
  'moderation:read': 'viewer',
  'moderation:write': 'moderator',
  'lookup:read': 'viewer',
  'members:read': 'viewer',
  'verify:write': 'moderator',
  'sync:read': 'viewer',
  'sync:write': 'admin',
  'activity:read': 'viewer',
  'activity:write': 'nobody',
  'server:read': 'viewer',
  'server:write': 'nobody',
  'events:read': 'viewer',
  'webhooks:read': 'admin',
  'webhooks:write': 'admin',
  'commands:read': 'viewer',
  'commands:write': 'moderator',
};

/** The lowest role that may do what is no REST route. */
const ROLE_OF_ACTION: Record<ConsoleAction, GuildRole> = {
  'access.read': 'viewer',
  'access.write': 'admin',
  'keys.read': 'admin',
  'keys.write': 'admin',
  'audit.read': 'admin',
  'person.export': 'admin',
  'person.erase': 'admin',
};

const ROLES = ['none', ...GUILD_ROLES] as const;
const GUILD = newGuild();
const CHAT = '920000000000000001';

let database: TestDatabase;
let auth: TestAuth;
let person: TestConsole;
const tokens = new Map<string, string>();

beforeAll(async () => {
  database = await createTestDatabase();
  auth = await startTestAuth({ databaseUrl: database.url });
  person = connectConsole(auth);
  for (const role of GUILD_ROLES) tokens.set(role, await person.signIn(GUILD, role));
  tokens.set('none', await person.signIn(newGuild()));
});
afterAll(async () => {
  person.close();
  await auth.stop();
  await database.drop();
});

const callerWith = (role: string) => callerOf(tokens.get(role) ?? '');
const includes = (role: string, lowest: string) => ROLES.indexOf(role as never) >= ROLES.indexOf(lowest as never);

/** Errors of calls that were allowed: the key does not exist, and no other service runs. */
const AFTER_ALLOWED = ['NOT_FOUND', 'UNAVAILABLE'];

/** Returns whether a call was rejected because of the role. Throws for other rejections, such as NOT_SIGNED_IN. */
async function outcome(call: Promise<unknown>): Promise<'allowed' | 'rejected'> {
  try {
    await call;
    return 'allowed';
  } catch (error) {
    const { code } = error as ApiError;
    if (code === 'ROLE_TOO_LOW') return 'rejected';
    if (AFTER_ALLOWED.includes(code)) return 'allowed';
    throw error;
  }
}

/** The lowest role that may call a route. Any key may call routes without a scope. */
function lowestRole({ scope, writes, method }: Route): GuildRole | 'nobody' {
  if (scope !== null) return ROLE_OF_SCOPE[scope];
  if (writes) return 'admin';
  return method === 'GET' ? 'viewer' : 'moderator';
}

const targetOf = ({ path }: Route) =>
  API_PREFIX +
  path
    .replace(':guildId', GUILD)
    .replaceAll(/:(?:chatId|memberId)/g, CHAT)
    .replaceAll(/:\w+/g, '7');

describe('REST routes', () => {
  const routes = ROUTES.filter(({ service }) => service !== 'gateway');
  const cells = routes.flatMap((route) => ROLES.map((role) => ({ role, name: route.name, route })));

  test('all are in the matrix', () => {
    expect(cells.length).toBe(routes.length * ROLES.length);
    expect(routes.length).toBeGreaterThan(50);
  });

  test.each(cells)('$name as $role', async ({ role, route }) => {
    const { method } = route;
    const request = { caller: callerWith(role), guildId: GUILD, method, target: targetOf(route) };
    const lowest = lowestRole(route);
    const isAllowed = lowest !== 'nobody' && includes(role, lowest);
    const result = await person.client.signRequest(request).then(
      ({ service, route: name, role: signed }) => ({ service, name, signed }),
      ({ code }: ApiError) => code,
    );
    const signed = { service: route.service, name: route.name, signed: role };
    expect(result).toEqual(isAllowed ? signed : 'ROLE_TOO_LOW');
  });
});

describe('routes of the gateway', () => {
  const own = ROUTES.filter(({ service }) => service === 'gateway');
  test.each(own.map((route) => ({ name: route.name, route })))('$name is signed for nobody', async ({ route }) => {
    const { method } = route;
    const request = { caller: callerWith('owner'), guildId: GUILD, method, target: targetOf(route) };
    await expect(person.client.signRequest(request)).rejects.toMatchObject({ code: 'ROUTE_NOT_FOUND' });
  });
});

describe('other actions', () => {
  const keyId = `${GUILD}-999`;
  const key = {
    guildId: GUILD,
    name: 'Servers',
    legacy: false,
    scopes: ['lookup:read'],
    ipAllowlist: [],
    actor: '',
  };
  const page = { guildId: GUILD, limit: 0, cursor: '' };
  type Call = (caller: ReturnType<typeof callerOf>) => Promise<unknown>;
  const calls: [ConsoleAction, string, Call][] = [
    ['access.read', 'listAccess', (caller) => person.client.listAccess({ caller, guildId: GUILD })],
    [
      'access.write',
      'setAccess',
      (caller) => person.client.setAccess({ caller, guildId: GUILD, chatId: CHAT, role: 'viewer' }),
    ],
    ['access.write', 'removeAccess', (caller) => person.client.removeAccess({ caller, guildId: GUILD, chatId: CHAT })],
    ['keys.read', 'listGuildKeys', (caller) => person.client.listGuildKeys({ caller, ...page })],
    ['keys.write', 'createGuildKey', (caller) => person.client.createGuildKey({ caller, key })],
    [
      'keys.write',
      'updateGuildKey',
      (caller) => person.client.updateGuildKey({ caller, key: { keyId, name: 'x', actor: '' } }),
    ],
    [
      'keys.write',
      'rotateGuildKey',
      (caller) => person.client.rotateGuildKey({ caller, key: { keyId, graceSeconds: 0, actor: '' } }),
    ],
    ['keys.write', 'revokeGuildKey', (caller) => person.client.revokeGuildKey({ caller, key: { keyId, actor: '' } })],
    ['audit.read', 'listGuildAudit', (caller) => person.client.listGuildAudit({ caller, ...page })],
    [
      'person.export',
      'exportPerson',
      (caller) => person.client.exportPerson({ caller, guildId: GUILD, chatId: CHAT, cursor: '' }),
    ],
    [
      'person.erase',
      'erasePerson',
      (caller) => person.client.erasePerson({ caller, guildId: GUILD, chatId: CHAT, dryRun: false }),
    ],
  ];

  test('all are in the matrix', () => {
    expect(Object.keys(CONSOLE_ACTIONS).toSorted()).toEqual([...new Set(calls.map(([action]) => action))].toSorted());
  });

  const cells = calls.flatMap(([action, method, call]) => ROLES.map((role) => ({ action, method, role, call })));
  test.each(cells)('$method ($action) as $role', async ({ action, role, call }) => {
    const expected = includes(role, ROLE_OF_ACTION[action]) ? 'allowed' : 'rejected';
    expect(await outcome(call(callerWith(role)))).toBe(expected);
  });
});
