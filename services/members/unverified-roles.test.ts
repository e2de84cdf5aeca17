import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Platform } from '#platforms/fixture.ts';
import { GUILD, MembersFixture } from './fixture.ts';

// Ada has rank 50 in group 501, and the roles Officer and Verified.
const ADA = '920000000000000001';
const OFFICER = '910000000000000001';
const DECKHAND = '910000000000000003';
const TABLE = '910000000000000004';

const fixture = new MembersFixture();
let chat: Platform;
let world: unknown;

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  world = await (await fetch(`${chat.url}/__world`)).json();
});
beforeEach(() => chat.putWorld(world));
afterEach(async () => {
  await fixture.unlink({ chat_id: ADA });
  for (const table of ['bindings.bindings', 'members.grants', 'members.role_tasks', 'members.sync_jobs']) {
    await fixture.query(`DELETE FROM ${table}`);
  }
});
afterAll(() => fixture.stop());

/** Stores a binding of a type that needs no target. */
const bind = (roleId: string, type: 'verified' | 'unverified', authority: string | null = null) =>
  fixture.query(
    `INSERT INTO bindings.bindings (guild_id, chat_role_id, type, authority, created_at, updated_at)
     VALUES ($1, $2, $3, $4, now(), now())`,
    [GUILD, roleId, type, authority],
  );
async function rolesOf(chatId: string): Promise<string[]> {
  const member = await fetch(`${chat.url}/api/v10/guilds/${GUILD}/members/${chatId}`, {
    headers: { authorization: 'Bot token' },
  });
  return ((await member.json()) as { roles: string[] }).roles;
}
const byHand = (method: 'PUT' | 'DELETE', roleId: string) =>
  fetch(`${chat.url}/api/v10/guilds/${GUILD}/members/${ADA}/roles/${roleId}`, {
    method,
    headers: { authorization: 'Bot token' },
  });
async function idle(): Promise<void> {
  await expect.poll(async () => (await fixture.query('SELECT 1 FROM members.role_tasks')).length).toBe(0);
}

test('a link exchanges the role of unverified members for that of verified ones, and an unlink back', async () => {
  await bind(DECKHAND, 'verified');
  await bind(TABLE, 'unverified');
  await fixture.link(ADA, 7001);
  await expect.poll(() => rolesOf(ADA)).toContain(DECKHAND);
  await idle();
  await fixture.unlink({ chat_id: ADA });
  await expect.poll(() => rolesOf(ADA)).toContain(TABLE);
  expect(await rolesOf(ADA)).not.toContain(DECKHAND);
  await idle();
  await fixture.link(ADA, 7001);
  await expect.poll(() => rolesOf(ADA)).toContain(DECKHAND);
  expect(await rolesOf(ADA)).not.toContain(TABLE);
  await idle();
});

test('after an unlink a role stays with grant, and goes with own whoever gave it', async () => {
  await bind(DECKHAND, 'verified', 'grant');
  await bind(TABLE, 'verified', 'own');
  await fixture.link(ADA, 7001);
  await expect.poll(() => rolesOf(ADA)).toEqual(expect.arrayContaining([DECKHAND, TABLE]));
  await idle();
  // As if somebody else had given it.
  await fixture.query('DELETE FROM members.grants');
  await fixture.unlink({ chat_id: ADA });
  await expect.poll(() => rolesOf(ADA)).not.toContain(TABLE);
  expect(await rolesOf(ADA)).toContain(DECKHAND);
  await idle();
});

test('with managed a sync leaves a role that somebody else gave', async () => {
  await bind(TABLE, 'unverified', 'managed');
  await bind(OFFICER, 'unverified');
  await fixture.linkPastMembers(ADA, 7001);
  await byHand('PUT', TABLE);
  const response = await fixture.post('/sync/roles', { guild_id: GUILD, chat_id: ADA });
  expect(response.body.data).toMatchObject({ removed: [OFFICER], unchanged: [TABLE] });
});

test('a job gives the role of unverified members to those without a link, and counts verified members', async () => {
  await bind(TABLE, 'unverified');
  await fixture.linkPastMembers(ADA, 7001);
  const { body } = await fixture.post('/sync/group', { guild_id: GUILD, game_group_id: 501 });
  const job = async () => (await fixture.get(`/sync/jobs/${body.data.job_id}`)).body.data;
  await expect.poll(async () => (await job()).state).toBe('done');
  const { total, done, changed } = await job();
  expect([total, done]).toEqual([1, 1]);
  expect(changed).toBeGreaterThan(1);
  expect(await rolesOf('920000000000000005')).toContain(TABLE);
  expect(await rolesOf(ADA)).not.toContain(TABLE);
});

test('the explanation of an unverified member has the bindings that it matches', async () => {
  await bind(TABLE, 'unverified');
  const { roles } = (await fixture.get(`/guilds/${GUILD}/members/${ADA}/roles`)).body.data;
  const bindings = [
    { binding_id: expect.any(Number), matches: 'yes', code: 'NOT_VERIFIED', reason: expect.any(String) },
  ];
  expect(roles).toMatchObject([{ role_id: TABLE, has_role: false, action: 'add', bindings }]);
});
