import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { asApiError } from '#kit/errors.ts';
import { PATIENCE } from '#test/patience.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { deadlineFor, PlatformsFixture } from '../fixture.ts';

const GUILD = '900000000000000001';
const OTHER_GUILD = '900000000000000009';
const SELF = 'GET /api/v10/users/@me';
const ROLES = 'GET /api/v10/guilds/:guild/roles';
const MEMBER = 'GET /api/v10/guilds/:guild/members/:user';

let fixture: PlatformsFixture;

beforeEach(async () => {
  fixture = await PlatformsFixture.start();
});
afterEach(() => fixture.stop());

/** A guild in which the bot holds the role of position 3. */
const guild = (
  roles: { id: string; position: number; managed?: boolean; permissions?: string }[],
  botRoles: string[],
) => ({
  chat: {
    guilds: [
      {
        id: GUILD,
        name: 'Harbor',
        roles: roles.map((role) => ({ ...role, name: `Role ${role.id.slice(-1)}` })),
        bot: { id: '930000000000000001', roles: botRoles },
      },
    ],
  },
});
const id = (last: number) => `91000000000000000${last}`;

test('roles are listed highest first, without @everyone, and say whether the bot can assign them', async () => {
  const roles = await fixture.discord().roles(GUILD);
  expect(roles.map(({ name, assignable }) => [name, assignable])).toEqual([
    ['Harbormaster', false],
    ['Guild Data', false],
    ['Captain', true],
    ['Server Booster', false],
    ['Officer', true],
    ['Deckhand', true],
    ["Captain's Table", true],
    ['First Voyage', true],
    ['Verified', true],
  ]);
  expect(roles[2]).toEqual({
    id: '910000000000000002',
    name: 'Captain',
    position: 7,
    color: 15158332,
    managed: false,
    belowBot: true,
    isBotRole: false,
    assignable: true,
  });
  expect(roles[3]).toMatchObject({ managed: true });
});

test('of roles in the same position the older one ranks higher, and the bot can assign roles below its own', async () => {
  const all = [id(3), id(1), id(2)].map((id) => ({ id, position: 3 }));
  await fixture.chat.putWorld(guild(all, [id(2)]));
  const roles = await fixture.discord().roles(GUILD);
  expect(roles.map(({ id, assignable }) => [id, assignable])).toEqual([
    [id(1), false],
    [id(2), false],
    [id(3), true],
  ]);
});

test('a bot without a role cannot assign any role', async () => {
  await fixture.chat.putWorld(guild([{ id: id(1), position: 1 }], []));
  expect(await fixture.discord().roles(GUILD)).toMatchObject([{ id: id(1), assignable: false }]);
});

const MANAGE_ROLES = String(1n << 28n);
const ADMINISTRATOR = String(1n << 3n);

test.each([
  ['no permission', { [id(2)]: '0', [id(3)]: '0' }, false],
  ['Manage Roles by its highest role', { [id(3)]: MANAGE_ROLES }, true],
  ['Manage Roles by another of its roles', { [id(2)]: MANAGE_ROLES, [id(3)]: '0' }, true],
  ['ADMINISTRATOR', { [id(2)]: '0', [id(3)]: ADMINISTRATOR }, true],
  ['Manage Nicknames alone', { [id(2)]: '0', [id(3)]: String(1n << 27n) }, false],
])('assignability of a role below a bot with %s', async (_what, permissions, assignable) => {
  const given: Record<string, string> = { [id(2)]: '0', ...permissions };
  const all = [1, 2, 3].map((position) => ({
    id: id(position),
    position,
    permissions: given[id(position)] ?? '0',
  }));
  await fixture.chat.putWorld(guild(all, [id(2), id(3)]));
  const roles = await fixture.discord().roles(GUILD);
  expect(roles.find((role) => role.id === id(1))).toMatchObject({ belowBot: true, assignable });
});

test('concurrent callers share one request for roles per minute, and the bot itself is requested once', async () => {
  const discord = fixture.discord();
  await Promise.all(Array.from({ length: 10 }, () => discord.roles(GUILD)));
  fixture.clock.advance(59_999);
  await discord.roles(GUILD);
  expect(await fixture.chat.calls()).toEqual({ [SELF]: 1, [ROLES]: 1, [MEMBER]: 1 });
  fixture.clock.advance(1);
  await discord.roles(GUILD);
  expect(await fixture.chat.calls()).toEqual({ [SELF]: 1, [ROLES]: 2, [MEMBER]: 2 });
});

test.each([
  ['without the bot', {}],
  ['that the bot may not read', { status: 403, body: { code: 50001, message: 'Missing Access' } }],
])('a guild %s is a PLATFORM_ERROR that says what to do, and is requested once a minute', async (_what, given) => {
  if ('status' in given) await fixture.chat.fault('/guilds', given);
  const discord = fixture.discord();
  const error = { code: 'PLATFORM_ERROR', message: expect.stringMatching(/not in the guild .* invite it/) as string };
  await expect(discord.roles(OTHER_GUILD)).rejects.toMatchObject(error);
  await expect(discord.roles(OTHER_GUILD)).rejects.toMatchObject(error);
  expect(await fixture.chat.calls()).toEqual({ [SELF]: 1, [ROLES]: 1, [MEMBER]: 1 });
  fixture.clock.advance(60_000);
  await fixture.chat.forget();
  await expect(discord.roles(OTHER_GUILD)).rejects.toMatchObject(error);
  expect(await discord.roles(GUILD)).toHaveLength(9);
});

const FAULTS: [string, Record<string, unknown>, string][] = [
  ['responds with 500', { status: 500 }, 'PLATFORM_ERROR'],
  ['responds with 503', { status: 503 }, 'PLATFORM_ERROR'],
  ['responds with 403', { status: 403 }, 'PLATFORM_ERROR'],
  ['has lost the route', { status: 404 }, 'PLATFORM_ERROR'],
  ['resets the connection', { reset: true }, 'PLATFORM_ERROR'],
  ['sends invalid JSON', { broken: true }, 'PLATFORM_ERROR'],
  ['truncates the response', { truncate: true }, 'PLATFORM_ERROR'],
  ['sends an unexpected body', { body: { roles: 1 } }, 'PLATFORM_ERROR'],
  ['is too slow', { delay_ms: 10_000 }, 'TIMEOUT'],
];

test.each(['/users/@me', '/roles', '/members/'].flatMap((path) => FAULTS.map((fault) => [path, ...fault] as const)))(
  'at %s a platform that %s is an error once, and the next call succeeds',
  async (path, _what, fault, code) => {
    fixture.deadlineMs = deadlineFor(fault);
    const discord = fixture.discord();
    await fixture.chat.fault(path, { ...fault, times: 1 });
    await expect(discord.roles(GUILD)).rejects.toMatchObject({ code });
    expect(await discord.roles(GUILD)).toHaveLength(9);
  },
);

test('a platform that refuses connections is a PLATFORM_ERROR', async () => {
  const discord = fixture.discord({ CHAT_API_URL: 'http://127.0.0.1:1/api/v10' });
  await expect(discord.roles(GUILD)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test('a platform that keeps failing is not called for two seconds, then tried with a single call', async () => {
  const discord = fixture.discord();
  await fixture.chat.fault('/users/@me', { status: 500 });
  for (let call = 0; call < 10; call++) {
    await expect(discord.roles(GUILD)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  }
  const begun = performance.now();
  await expect(discord.roles(GUILD)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await fixture.chat.calls()).toEqual({ [SELF]: 10 });
  await expect.poll(() => discord.roles(GUILD).catch(asApiError), PATIENCE).toMatchObject({ code: 'PLATFORM_ERROR' });
  // The two seconds began with the tenth call, before the time was read.
  expect(performance.now() - begun).toBeGreaterThan(1_800);
  expect(await fixture.chat.calls()).toEqual({ [SELF]: 11 });
});

test('after a 429 the platform is not called until its Retry-After has passed', async () => {
  const discord = fixture.discord();
  await fixture.chat.fault('/users/@me', { status: 429, retry_after: 30, times: 1 });
  await expect(discord.roles(GUILD)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 30 });
  fixture.clock.advance(29_500);
  await expect(discord.roles(GUILD)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  expect(await fixture.chat.calls()).toEqual({ [SELF]: 1 });
  fixture.clock.advance(500);
  expect(await discord.roles(GUILD)).toHaveLength(9);
});

test.each([
  ['its headers say so', { 'x-ratelimit-reset': '1767225630.5', 'x-ratelimit-scope': 'user' }, '{}'],
  ['only its body says so', {}, '{"message":"Slow","retry_after":30,"global":false}'],
])('a 429 of one guild does not affect other guilds if %s', async (_where, headers, body) => {
  const own = { 'retry-after': '30', ...headers };
  const bodies: Record<string, unknown> = { '/users/@me': { id: '1' }, [`/guilds/${OTHER_GUILD}/roles`]: [] };
  const url = await fixture.serve((path, response) => {
    if (path === `/guilds/${GUILD}/roles`) response.writeHead(429, own).end(body);
    else response.end(JSON.stringify(bodies[path] ?? { roles: [] }));
  });
  const discord = fixture.discord({ CHAT_API_URL: url });
  await expect(discord.roles(GUILD)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 30 });
  expect(await discord.roles(OTHER_GUILD)).toEqual([]);
});

test('a global 429 affects every guild', async () => {
  const bodies: Record<string, unknown> = { '/users/@me': { id: '1' } };
  const url = await fixture.serve((path, response) => {
    if (path === `/guilds/${GUILD}/roles`) response.writeHead(429, { 'retry-after': '30' }).end('{"global":true}');
    else response.end(JSON.stringify(bodies[path] ?? { roles: [] }));
  });
  const discord = fixture.discord({ CHAT_API_URL: url });
  await expect(discord.roles(GUILD)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 30 });
  await expect(discord.roles(OTHER_GUILD)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 30 });
});

describe('a rejected token', () => {
  const isShownAsRejected = async () =>
    /^platform_credentials_rejected\{host="chat"\} (\d)$/m.exec(await fixture.metrics.registry.metrics())?.[1] === '1';

  test('suspends calls except for one probe a minute, and shows in the log and in a gauge', async () => {
    const discord = fixture.discord();
    await fixture.chat.fault('', { status: 401 });
    await expect(discord.roles(GUILD)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 60 });
    expect(await isShownAsRejected()).toBe(true);
    for (let minute = 1; minute <= 3; minute++) {
      fixture.clock.advance(59_000);
      await expect(discord.roles(GUILD)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
      expect(await fixture.chat.calls()).toEqual({ [SELF]: minute });
      fixture.clock.advance(1_000);
      const probes = await Promise.allSettled(
        Array.from({ length: 5 }, () => discord.member(GUILD, '920000000000000001')),
      );
      expect(probes.every(({ status }) => status === 'rejected')).toBe(true);
    }
    expect(await fixture.chat.calls()).toEqual({ [SELF]: 4 });
    expect(fixture.logLines).toHaveLength(1);
    expect(fixture.logLines[0]).toContain('chat platform rejected CHAT_BOT_TOKEN');
  });

  test('is probed by one call, and all others wait for its outcome', async () => {
    const discord = fixture.discord();
    await discord.roles(GUILD);
    await fixture.chat.fault('/members/', { status: 401, times: 1 });
    await expect(discord.member(GUILD, '920000000000000001')).rejects.toMatchObject({ retryAfter: 60 });
    fixture.clock.advance(60_000);
    await fixture.chat.fault('/members/', { delay_ms: 100, times: 1 });
    const members = Array.from({ length: 5 }, () => discord.member(GUILD, '920000000000000001'));
    // Calls that start later and calls of other routes wait too.
    const all = await Promise.all([...members, discord.roles(GUILD)]);
    expect(all.every((found) => found !== null)).toBe(true);
  });

  test('is used again as soon as the probe succeeds', async () => {
    const discord = fixture.discord();
    await fixture.chat.fault('', { status: 401, times: 1 });
    await expect(discord.roles(GUILD)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    fixture.clock.advance(60_000);
    expect(await discord.roles(GUILD)).toHaveLength(9);
    expect(await isShownAsRejected()).toBe(false);
    expect(fixture.logLines.at(-1)).toContain('chat platform accepts CHAT_BOT_TOKEN again');
  });
});

test('every call has the bot token and a User-Agent in the required format', async () => {
  const seen = new Set<string>();
  const url = await fixture.serve((_path, response, { headers }) => {
    seen.add(`${headers.authorization}; ${headers['user-agent']}`);
    response.end('{}');
  });
  await expect(fixture.discord({ CHAT_API_URL: url }).roles(GUILD)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  expect([...seen]).toEqual([`Bot token; DiscordBot (https://bot.example, ${packageJson.version})`]);
});

test('redirects are not followed, and responses above 1 MiB are errors', async () => {
  const target = `${fixture.chat.url}/api/v10/users/@me`;
  const redirecting = await fixture.serve((_path, response) => response.writeHead(302, { location: target }).end());
  const large = await fixture.serve((_path, response) => {
    response.end(JSON.stringify({ id: '1', text: 'x'.repeat(1024 * 1024) }));
  });
  for (const url of [redirecting, large]) {
    await expect(fixture.discord({ CHAT_API_URL: url }).roles(GUILD)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  }
  expect(await fixture.chat.calls()).toEqual({});
});
