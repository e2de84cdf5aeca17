import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { databaseRows } from '#test/postgres/database.ts';
import { callerOf } from './fixtures/console.ts';
import { GUILD, MANAGER, MEMBER, OPERATOR, OWNER, SignInFixture } from './fixtures/sign-in.ts';

const MINUTE_MS = 60_000;
const READ_GUILDS = 'GET /api/v10/users/@me/guilds';

let fixture: SignInFixture;

beforeAll(async () => {
  fixture = await SignInFixture.start();
});
afterEach(() => fixture.restore());
afterAll(() => fixture.stop());

const sign = (token: string, guildId = GUILD) =>
  fixture.console.client.signRequest({
    caller: callerOf(token),
    guildId,
    method: 'GET',
    target: `/api/v1/guilds/${guildId}/roles`,
  });

async function readings(): Promise<number> {
  const calls = await fixture.calls('chat');
  return Object.entries(calls).reduce((sum, [call, count]) => (call.startsWith(READ_GUILDS) ? sum + count : sum), 0);
}

function loseRole() {
  fixture.changeWorld(({ chat }) => {
    for (const role of chat.guilds[0]?.roles ?? []) if (role.name === 'Captain') role.permissions = '0';
  });
}

test('a guild to which the person lost access an hour ago is closed to them, also for open event streams', async () => {
  const { sessionToken } = await fixture.signIn('chat', MANAGER);
  await expect(sign(sessionToken)).resolves.toMatchObject({ role: 'admin' });
  loseRole();
  fixture.clock.advance(60 * MINUTE_MS);
  const sessions = [{ sessionToken, guildId: GUILD }];
  expect((await fixture.console.client.checkSessions({ sessions })).roles).toEqual(['']);
  await expect(sign(sessionToken)).rejects.toMatchObject({ code: 'ROLE_TOO_LOW' });
});

test('a check of sessions has the rights read again that are older than ten minutes', async () => {
  const { sessionToken } = await fixture.signIn('chat', MANAGER);
  const check = async () => {
    const { roles } = await fixture.console.client.checkSessions({ sessions: [{ sessionToken, guildId: GUILD }] });
    return roles[0];
  };
  loseRole();
  expect(await check()).toBe('admin');
  fixture.clock.advance(11 * MINUTE_MS);
  await vi.waitFor(async () => expect(await check()).toBe(''));
});

test('a session’s rights are read once for all requests that wait for them, also in several replicas', async () => {
  const { sessionToken } = await fixture.signIn('chat', OWNER);
  const { auth, console: first } = fixture;
  await fixture.startAuth();
  try {
    fixture.clock.advance(10 * MINUTE_MS);
    const before = await readings();
    const get = (console: typeof first) => console.client.getSession({ caller: callerOf(sessionToken) });
    const both = [first, fixture.console].flatMap((console) => Array.from({ length: 10 }, () => get(console)));
    for (const { guilds } of await Promise.all(both)) expect(guilds).toMatchObject([{ guildId: GUILD, role: 'owner' }]);
    expect((await readings()) - before).toBe(1);
  } finally {
    first.close();
    await auth.stop();
  }
});

test('while the provider does not respond it is called at most once in 30 seconds for a session', async () => {
  const { sessionToken } = await fixture.signIn('chat', OWNER);
  await fixture.fault('chat', '/users/@me/guilds', { status: 503 });
  fixture.clock.advance(10 * MINUTE_MS);
  await sign(sessionToken);
  const before = await readings();
  for (let time = 0; time < 5; time++) await sign(sessionToken);
  expect(await readings()).toBe(before);
  fixture.clock.advance(25 * MINUTE_MS);
  await expect(sign(sessionToken)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  await expect(sign(sessionToken)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('a person whose provider does not respond can still sign out', async () => {
  const { sessionToken } = await fixture.signIn('chat', OWNER);
  await fixture.fault('chat', '/users/@me/guilds', { status: 503 });
  fixture.clock.advance(60 * MINUTE_MS);
  const caller = callerOf(sessionToken);
  expect(await fixture.console.client.endSessions({ caller, sessionId: '', all: false })).toEqual({ ended: 1 });
});

test('the 21st session of a person ends the oldest one, also after concurrent sign-ins', async () => {
  const tokens: string[] = [];
  for (let count = 0; count < 20; count++) {
    fixture.clock.advance(1_000);
    tokens.push((await fixture.signIn('chat', MEMBER)).sessionToken);
  }
  await expect(fixture.session(tokens[0] ?? '')).resolves.toBeTruthy();
  fixture.clock.advance(1_000);
  const more = await Promise.all(Array.from({ length: 3 }, () => fixture.signIn('chat', MEMBER)));
  for (const ended of tokens.slice(0, 3)) {
    await expect(fixture.session(ended)).rejects.toMatchObject({ code: 'NOT_SIGNED_IN' });
  }
  await expect(fixture.session(tokens[3] ?? '')).resolves.toBeTruthy();
  const caller = callerOf(more[0]?.sessionToken ?? '');
  expect((await fixture.console.client.listSessions({ caller })).sessions).toHaveLength(20);
});

test('the credentials of a provider are stored encrypted', async () => {
  await fixture.signIn('chat', OWNER);
  const [row] = await databaseRows<{ credentials: Buffer }>(
    fixture.databaseUrl,
    `SELECT credentials FROM auth.sessions WHERE chat_id = '${OWNER}' ORDER BY created_at DESC LIMIT 1`,
  );
  expect(row?.credentials.toString('latin1')).not.toMatch(/token|refresh/);
});

test('an operator opens every known guild as its admin, and no unknown one unless that is allowed', async () => {
  const first = fixture.auth;
  const old = fixture.console;
  await fixture.startAuth({ CONSOLE_ANY_GUILD: 'false' });
  try {
    const known = '910000000000000777';
    await fixture.console.linkTo(known);
    const { sessionToken } = await fixture.signIn('oidc', OPERATOR);
    await expect(sign(sessionToken, known)).resolves.toMatchObject({ role: 'admin' });
    await expect(sign(sessionToken, '910000000000000778')).rejects.toMatchObject({ code: 'ROLE_TOO_LOW' });
    const { sessionToken: owner } = await fixture.signIn('chat', OWNER);
    await expect(sign(owner)).rejects.toMatchObject({ code: 'ROLE_TOO_LOW' });
    await fixture.console.linkTo(GUILD);
    await expect(sign(owner)).resolves.toMatchObject({ role: 'owner' });
  } finally {
    old.close();
    await first.stop();
  }
});
