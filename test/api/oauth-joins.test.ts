// Guarantees: a verified person joins with the roles and the nickname with one permission; nobody else does; a permission works
// once, in the browser that began, for the guild for which it was begun; no token or secret is logged or stored.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BrowserResponse, ConsoleFixture, exchange, GUILD, OTHER_GUILD } from '#services/console/fixture.ts';
import { databaseRows } from '#test/postgres/database.ts';

// Nora and Olaf are in no guild; 7001 has rank 50 in group 501.
const NORA = '920000000000000020';
const ADA = '920000000000000001';
const DECKHAND = '910000000000000003';
const GAME_ID = 7001;

let fixture: ConsoleFixture;
let key: string;
let chat: string;
let world: unknown;
const logLines: string[] = [];

const call = async (method: string, path: string, body: object) => {
  const { status, json } = await fixture.network.call(path, { method, key, body: { guild_id: GUILD, ...body } });
  if (status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`);
};
const settings = (body: object) => fixture.network.call(`/guilds/${GUILD}/settings`, { method: 'PATCH', key, body });
const control = async (method: string, path: string, body?: unknown) => {
  const response = await fetch(chat + path, { method, body: body === undefined ? null : JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
};

beforeAll(async () => {
  fixture = await ConsoleFixture.start({
    logLines,
  });
  chat = fixture.network.simulators.chat;
  ({ secret: key } = await fixture.network.createKey({ guildId: GUILD }));
  world = await (await fetch(`${chat}/__world`)).json();
  await call('POST', '/bindings/add', {
    binding_type: 'group_rank',
    chat_role_id: DECKHAND,
    game_group_id: 501,
    min_rank: 50,
    max_rank: 255,
  });
  await settings({ oauth_join: true, nickname_template: '{game_username}', sync_on_link: false });
  await call('POST', '/verification/link', { chat_id: NORA, game_id: GAME_ID, game_username: 'NoraRows' });
});
afterEach(async () => {
  await control('DELETE', '/__faults');
  await control('PUT', '/__world', world);
});
afterAll(() => fixture.stop());

/** Each test has an address of its own, because the console limits how often one may begin. */
let tests = 0;
beforeEach(() => {
  tests += 1;
});
const open = (path: string, cookie = ''): Promise<BrowserResponse> =>
  exchange(fixture.url + path, { localAddress: `127.0.1.${tests}`, headers: cookie ? { cookie } : {} });
const cookieOf = ({ headers }: BrowserResponse) => headers['set-cookie']?.[0]?.split(';')[0] ?? '';

async function begin(guildId = GUILD) {
  const response = await open(`/console/join/${guildId}/start`);
  return { address: response.headers.location ?? '', cookie: cookieOf(response), status: response.status };
}
/** Allows or cancels on the page of the platform. Returns the path to which the browser returns. */
async function choose({ address }: { address: string }, person: string): Promise<string> {
  const response = await fetch(`${address}&login=${person}`, { redirect: 'manual' });
  const { pathname, search } = new URL(response.headers.get('location') ?? '');
  return pathname + search;
}
const finish = async (path: string, cookie: string) => (await open(path, cookie)).headers.location;

async function join(person: string, guildId = GUILD) {
  const started = await begin(guildId);
  return finish(await choose(started, person), started.cookie);
}
async function memberOf(person: string, guildId = GUILD) {
  const headers = { authorization: 'Bot token' };
  const response = await fetch(`${chat}/api/v10/guilds/${guildId}/members/${person}`, { headers });
  return response.ok ? ((await response.json()) as { roles: string[]; nick: string | null }) : null;
}

test('a verified person joins with the roles and the nickname, with one call, and gets no session', async () => {
  const started = await begin();
  expect(Object.fromEntries(new URL(started.address).searchParams)).toMatchObject({
    scope: 'identify guilds.join',
    code_challenge_method: 'S256',
    redirect_uri: expect.stringMatching(/\/console\/join\/callback$/) as string,
  });
  const returned = await open(await choose(started, NORA), started.cookie);
  expect([returned.status, returned.headers.location]).toEqual([303, `/joined?guild=${GUILD}`]);
  expect(returned.headers['set-cookie']).toEqual([expect.stringMatching(/^__Host-guild-join=; Max-Age=0/)]);
  expect(await memberOf(NORA)).toMatchObject({ roles: [DECKHAND], nick: 'NoraRows' });
});

test('roles of a person who joined are taken back after an unlink', async () => {
  await join(NORA);
  await call('POST', '/verification/unlink', { chat_id: NORA });
  await expect.poll(async () => (await memberOf(NORA))?.roles).toEqual([]);
  await call('POST', '/verification/link', { chat_id: NORA, game_id: GAME_ID, game_username: 'NoraRows' });
});

test('a member stays in the guild, and gets the roles', async () => {
  await control('POST', '/__members', { guild: GUILD, user: NORA, action: 'join', nick: 'Old' });
  expect(await join(NORA)).toBe(`/joined?guild=${GUILD}`);
  await expect.poll(() => memberOf(NORA)).toMatchObject({ roles: [DECKHAND], nick: 'NoraRows' });
});

test('a person who is not verified in this guild does not join', async () => {
  expect(await join(ADA)).toBe('/joined?error=NOT_FOUND');
  const other = await fixture.network.createKey({ guildId: OTHER_GUILD });
  await fixture.network.call(`/guilds/${OTHER_GUILD}/settings`, {
    method: 'PATCH',
    key: other.secret,
    body: { oauth_join: true },
  });
  expect(await join(NORA, OTHER_GUILD)).toBe('/joined?error=NOT_FOUND');
  expect(await memberOf(NORA, OTHER_GUILD)).toBeNull();
});

test('without the setting nobody is asked, and a permission that was asked for before is not used', async () => {
  const started = await begin();
  const path = await choose(started, NORA);
  await settings({ oauth_join: false });
  expect(await begin()).toMatchObject({ status: 303, address: '/joined?error=NOT_APPLICABLE' });
  expect(await finish(path, started.cookie)).toBe('/joined?error=NOT_APPLICABLE');
  expect(await memberOf(NORA)).toBeNull();
  await settings({ oauth_join: true });
});

test('a state works once, only in the browser that began, and not for signing in', async () => {
  const [started, other] = [await begin(), await begin()];
  const path = await choose(started, NORA);
  for (const cookie of ['', other.cookie]) {
    expect(await finish(path, cookie)).toBe('/joined?error=INVALID_REQUEST');
  }
  const asSignIn = path.replace('/console/join/callback', '/console/sign-in/chat/callback');
  const signInCookie = started.cookie.replace('__Host-guild-join', '__Host-guild-sign-in');
  expect(await finish(asSignIn, signInCookie)).toBe('/sign-in?error=INVALID_REQUEST');
  const results = await Promise.all([1, 2, 3].map(() => finish(path, started.cookie)));
  expect(results.map(String).toSorted()).toEqual([
    '/joined?error=INVALID_REQUEST',
    '/joined?error=INVALID_REQUEST',
    `/joined?guild=${GUILD}`,
  ]);
});

test('a person who cancels reads so', async () => {
  expect(await join('cancel')).toBe('/joined?error=NOT_APPLICABLE');
});

test.each([
  [{ status: 503 }, 'PLATFORM_ERROR'],
  [{ status: 403, body: { code: 50025, message: 'Invalid OAuth2 access token' } }, 'NOT_APPLICABLE'],
  [{ status: 403, body: { code: 40007, message: 'The user is banned from this guild.' } }, 'NOT_APPLICABLE'],
  [{ status: 400, body: { code: 30001, message: 'Maximum number of guilds reached (100)' } }, 'NOT_APPLICABLE'],
])('the fault %j of the platform is %s', async (fault, code) => {
  await control('POST', '/__faults', { match: `/members/${NORA}`, ...fault });
  expect(await join(NORA)).toBe(`/joined?error=${code}`);
});

test.each(['general', '1', '90000000000000000x'])('the guild %s is rejected', async (guildId) => {
  const { status } = await open(`/console/join/${guildId}/start`);
  expect(status).toBe(400);
});

test('no log line has an access token, a code, a state or a secret of a browser', async () => {
  const started = await begin();
  const path = await choose(started, NORA);
  logLines.length = 0;
  await finish(path, started.cookie);
  const { searchParams } = new URL(path, fixture.url);
  const secrets = [searchParams.get('code'), searchParams.get('state'), started.cookie.split('=')[1]];
  const log = logLines.join('\n');
  expect(log).toContain('linked account was added to the guild');
  for (const secret of secrets) expect([secret, log.includes(secret ?? '-')]).toEqual([secret, false]);
  expect(log).not.toMatch(/access_token|accessToken/);
});

test('while the platform has paused joins, nobody gets a grant of a role that the join did not give', async () => {
  await call('POST', '/verification/link', { chat_id: ADA, game_id: 7002, game_username: 'AdaRows' });
  await control('POST', '/__faults', { match: `/members/${NORA}`, status: 429, retry_after: 20, times: 1 });
  expect(await join(NORA)).toBe('/joined?error=UNAVAILABLE');
  expect(await join(ADA)).toBe('/joined?error=UNAVAILABLE');
  const grants = 'SELECT role_id FROM members.grants WHERE chat_id = $1';
  expect(await databaseRows(fixture.network.databaseUrl, grants, [ADA])).toEqual([]);
});
