import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConsoleAdminServiceService, ConsoleServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import { guildctl } from '#services/cli/guildctl.ts';
import { connect } from '../network/grpc.ts';
import { databaseRows } from '../postgres/database.ts';
import { rowsOfGuild, untilDecisionsAreCommands, untilEventsAreRecorded } from '../system/guild-rows.ts';
import { GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

const PLAYER = { chat_id: '920000000000000004', game_id: 7004, game_username: 'Dmitri_2026' };
const ADMIN_CHAT = '920000000000000010';
const ADDRESS = '203.0.113.7';

let network: Network;
const closers: (() => void)[] = [];

beforeAll(async () => {
  network = await startNetwork({ environment: { CONSOLE_URL: 'https://console.example' } });
  await writeData(GUILD);
  await writeData(OTHER_GUILD);
}, 180_000);
afterAll(async () => {
  for (const close of closers) close();
  await network.stop();
});

function asConsole() {
  const address = network.address('auth', 'grpc');
  const { client, close } = connect(ConsoleServiceService, 'auth', address, undefined, [network.secrets.internal]);
  const admin = connect(ConsoleAdminServiceService, 'auth', address, undefined, [network.secrets.admin]);
  closers.push(close, admin.close);
  return { client, admin: admin.client };
}

/** Signs a person in to a guild. */
async function signIn(guildId: string, role = 'admin') {
  const { client, admin } = asConsole();
  const { url } = await admin.createLink({ guildId, role, actor: '' });
  const linkToken = url.split('#')[1] ?? '';
  const { sessionToken } = await client.useLink({ linkToken, address: ADDRESS, userAgent: '' });
  return { client, caller: { sessionToken, address: ADDRESS, requestId: 'request-1' } };
}

async function writeData(guild: string): Promise<void> {
  const { secret: key } = await network.createKey({ guildId: guild });
  const post = async (path: string, body: object) => {
    const response = await network.call(path, { method: 'POST', key, body: { guild_id: guild, ...body } });
    expect([200, 201], `${path} ${JSON.stringify(response.json)}`).toContain(response.status);
    return response.json.data;
  };
  const { chat_id, game_id, game_username } = PLAYER;
  const { code } = await post('/verification/tokens', { chat_id });
  await post('/verification/redeem', { code, game_id, game_username });
  await post(`/moderation/${guild}/game/ban`, { game_id, game_username, reason: 'did it' });
  await post('/staff/game/session/start', { game_id, game_username, server_id: 's1', place_id: 5 });
  await untilDecisionsAreCommands(network.databaseUrl, guild);
  await untilEventsAreRecorded(network.databaseUrl, guild);
}

const rowsOf = (guild: string) => rowsOfGuild(network.databaseUrl, guild, Object.values(PLAYER));

test('a person exports the rows of a user from all services, and then erases them in one guild only', async () => {
  const { client, caller } = await signIn(GUILD);
  await client.setAccess({ caller, guildId: GUILD, chatId: PLAYER.chat_id, role: 'viewer' });
  const user = { caller, guildId: GUILD, gameId: PLAYER.game_id };
  const tables: string[] = [];
  let cursor = '';
  do {
    const page = await client.exportPerson({ ...user, cursor });
    for (const { table, row } of page.rows) {
      tables.push(table);
      expect(JSON.parse(row)).toBeInstanceOf(Object);
    }
    cursor = page.nextCursor;
  } while (cursor !== '');
  const counted = await client.erasePerson({ ...user, dryRun: true });
  const byTable = new Map(counted.tables.map(({ table, rows }) => [table, rows]));
  const exported = [...Map.groupBy(tables, String)].map(([table, all]) => [table, all.length]);
  expect(Object.fromEntries(exported)).toEqual(Object.fromEntries(byTable));
  expect([...byTable.keys()]).toEqual(
    expect.arrayContaining(['lookup.links', 'moderation.log', 'activity.sessions', 'auth.guild_access']),
  );
  const elsewhere = (await rowsOf(OTHER_GUILD)).length;

  const erased = await client.erasePerson({ ...user, dryRun: false });
  expect(erased.isDone).toBe(true);
  expect(erased.tables.find(({ table }) => table === 'lookup.links')).toMatchObject({ rows: 1 });
  expect(await rowsOf(GUILD)).toEqual([]);
  expect((await rowsOf(OTHER_GUILD)).length).toBe(elsewhere);
  expect(await client.erasePerson({ ...user, dryRun: false })).toEqual({ tables: [], isDone: true });

  const { entries } = await client.listGuildAudit({ caller, guildId: GUILD, limit: 0, cursor: '' });
  const { person } = await client.getSession({ caller });
  const recorded = entries.filter(({ action }) => ['erase_user', 'export_user'].includes(action));
  expect(recorded.map(({ action }) => action)).toEqual([
    'erase_user',
    'erase_user',
    'erase_user',
    'erase_user',
    'export_user',
  ]);
  for (const { actor, details } of recorded) {
    expect(actor).toBe('console');
    expect(JSON.parse(details)).toMatchObject({ person: { id: person?.id, role: 'admin' }, address: ADDRESS });
    expect(details).not.toMatch(/7004|920000000000000004|Dmitri/);
  }
}, 60_000);

test('a service that is down makes an erasure fail without a claim that it is done', async () => {
  const { client, caller } = await signIn(GUILD);
  await network.services.get('bindings')?.stop();
  const erasure = client.erasePerson({ caller, guildId: GUILD, gameId: PLAYER.game_id, dryRun: false });
  await expect(erasure).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await network.startOne('bindings', network.samePorts('bindings'));
}, 60_000);

test('a person who is erased everywhere has no session, no access, and gave none', async () => {
  const { client, caller } = await signIn(OTHER_GUILD, 'owner');
  await client.setAccess({ caller, guildId: OTHER_GUILD, chatId: ADMIN_CHAT, role: 'admin' });
  await databaseRows(
    network.databaseUrl,
    `UPDATE auth.guild_access SET given_by = '${PLAYER.chat_id}' WHERE chat_id = '${ADMIN_CHAT}'`,
  );
  await databaseRows(
    network.databaseUrl,
    `INSERT INTO auth.sessions (token_hash, person_id, person_name, provider, guilds, is_operator, rights_read_at,
       address, user_agent, created_at, used_at)
     VALUES ('x', '${PLAYER.chat_id}', 'Dmitri', 'chat', '{}', false, now(), '', '', now(), now())`,
  );
  const services = ['auth', 'lookup', 'bindings', 'members', 'activity', 'moderation', 'events'];
  const addresses = services.map((name) => [`GUILDCTL_${name.toUpperCase()}`, network.address(name, 'grpc')]);
  const status = await guildctl(['user', 'erase', '--everywhere', '--chat-id', PLAYER.chat_id, '--yes'], {
    environment: { ...Object.fromEntries(addresses), ADMIN_SECRETS: network.secrets.admin },
    user: 'ada',
    out: () => undefined,
    error: () => undefined,
  });
  expect(status).toBe(0);
  expect(await rowsOf(OTHER_GUILD)).toEqual([]);
  expect(await rowsOf('')).toEqual([]);
  expect((await client.listAccess({ caller, guildId: OTHER_GUILD })).access).toMatchObject([
    { chatId: ADMIN_CHAT, givenBy: '' },
  ]);
}, 60_000);
