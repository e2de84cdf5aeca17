import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { Platform } from '#platforms/fixture.ts';
import { GUILD, MembersFixture, statusesOf } from './fixture.ts';

const ADA = '920000000000000001';
const ESTHER = '920000000000000005';
const OFFICER = '910000000000000001';
const CAPTAIN = '910000000000000002';
const DECKHAND = '910000000000000003';
const TABLE = '910000000000000004';
const VOYAGE = '910000000000000005';
const BOOSTER = '910000000000000008';
const HARBORMASTER = '910000000000000010';
const GONE = '910000000000000099';
const GIVE = 'PUT /api/v10/guilds/:guild/members/:user/roles/:role';
const TAKE = 'DELETE /api/v10/guilds/:guild/members/:user/roles/:role';

const fixture = new MembersFixture();
let chat: Platform;
let game: Platform;
let world: unknown;
beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  game = new Platform(fixture.simulators.game);
  world = await (await fetch(`${chat.url}/__world`)).json();
  // Ada has rank 50 in group 501, and two roles. The link is created in lookup, so that no role task is queued.
  await fixture.linkPastMembers(ADA, 7001);
});
beforeEach(() => chat.putWorld(world));
afterEach(async () => {
  await fixture.advance(60_000);
  await Promise.all([chat.forget(), game.forget()]);
  await fetch(`${chat.url}/__audit`, { method: 'DELETE' });
  await fixture.query('TRUNCATE bindings.bindings, members.grants, members.member_locks');
});
afterAll(() => fixture.stop());

const sync = (fields: object, request: { key?: string; at?: RunningService } = {}) =>
  fixture.post('/sync/roles', { guild_id: GUILD, ...fields }, request);
const syncAda = (fields: object = {}) => sync({ chat_id: ADA, ...fields });

async function rolesOf(chatId: string): Promise<string[]> {
  return (await fixture.get(`/guilds/${GUILD}/members/${chatId}`)).body.data.roles;
}
const granted = async () =>
  (await fixture.query('SELECT role_id FROM members.grants ORDER BY role_id')).map(({ role_id }) => role_id);
async function writes(): Promise<number> {
  const calls = await chat.calls();
  return (calls[GIVE] ?? 0) + (calls[TAKE] ?? 0);
}
async function audit(): Promise<{ reason: string; changes: unknown }[]> {
  return ((await (await fetch(`${chat.url}/__audit`)).json()) as { entries: { reason: string; changes: unknown }[] })
    .entries;
}
/** Changes Ada's roles directly on the chat platform. */
const byHand = (method: 'PUT' | 'DELETE', roleId: string) =>
  fetch(`${chat.url}/api/v10/guilds/${GUILD}/members/${ADA}/roles/${roleId}`, {
    method,
    headers: { authorization: 'Bot token' },
  });

describe('POST /sync/roles', () => {
  test('assigns wanted roles and removes unwanted ones, with a reason in the audit log, and lists them', async () => {
    await fixture.bindRank(DECKHAND, { min: 50, max: 99 });
    await fixture.bindRank(OFFICER, { min: 100 });
    await fixture.bindRank(CAPTAIN, { min: 200 });
    const response = await syncAda();
    expect(response.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Roles synchronised',
      data: {
        chat_id: ADA,
        game_id: 7001,
        added: [DECKHAND],
        removed: [OFFICER],
        unchanged: [],
        failed: [],
        nickname: null,
        bindings: { evaluated: 3, matched: 1, unknown: 0 },
        dry_run: false,
      },
    });
    expect(await rolesOf(ADA)).toEqual(['910000000000000006', DECKHAND]);
    expect(await audit()).toMatchObject([
      { changes: { $add: DECKHAND }, reason: 'Guild Data: bindings for game account 7001' },
      { changes: { $remove: OFFICER }, reason: 'Guild Data: bindings for game account 7001' },
    ]);
    expect(await granted()).toEqual([DECKHAND]);
  });

  test('a second sync changes nothing and lists the unchanged roles', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await fixture.bindRank(OFFICER, { min: 50 });
    await syncAda();
    await chat.forget();
    const { added, removed, unchanged } = (await sync({ game_id: 7001 })).body.data;
    expect([added, removed, unchanged]).toEqual([[], [], [DECKHAND, OFFICER]]);
    expect(await writes()).toBe(0);
  });

  test('one of several bindings of a role is enough to assign it', async () => {
    await fixture.bindRank(DECKHAND, { min: 200 });
    await fixture.bindRank(DECKHAND, { min: 50, max: 50 });
    await fixture.bindRank(DECKHAND, { min: 1, groupId: 502 });
    const { added, bindings } = (await syncAda()).body.data;
    expect([added, bindings]).toEqual([[DECKHAND], { evaluated: 3, matched: 1, unknown: 0 }]);
    await fixture.query('DELETE FROM bindings.bindings WHERE min_rank = 50');
    expect((await syncAda()).body.data.removed).toEqual([DECKHAND]);
  });

  test('while the game platform fails no role is assigned or removed', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await fixture.bindRank(OFFICER, { min: 200 });
    await game.fault('memberships', { status: 500 });
    const { added, removed, unchanged, bindings } = (await syncAda()).body.data;
    expect([added, removed, unchanged]).toEqual([[], [], [OFFICER]]);
    expect(bindings).toEqual({ evaluated: 2, matched: 0, unknown: 2 });
    expect(await writes()).toBe(0);
  });

  test('a role without a binding is removed if a sync assigned it, and kept if somebody else did', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await fixture.bindRank(OFFICER, { min: 50 });
    await syncAda();
    await fixture.query('DELETE FROM bindings.bindings');
    expect((await syncAda()).body.data).toMatchObject({ removed: [DECKHAND], unchanged: [] });
    expect(await rolesOf(ADA)).toContain(OFFICER);
    expect(await granted()).toEqual([]);
  });

  test('a granted role that a person removed and assigned again no longer counts as granted', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await syncAda();
    await byHand('DELETE', DECKHAND);
    await fixture.query('DELETE FROM bindings.bindings');
    await syncAda();
    await byHand('PUT', DECKHAND);
    expect((await syncAda()).body.data.removed).toEqual([]);
  });

  test('roles that the bot cannot change are reported with a code and without a call; the others are changed', async () => {
    for (const roleId of [BOOSTER, HARBORMASTER, GONE, DECKHAND]) await fixture.bindRank(roleId, { min: 50 });
    const response = await syncAda();
    expect(response.status).toBe(200);
    const { added, failed } = response.body.data;
    expect(added).toEqual([DECKHAND]);
    expect(failed).toEqual([
      { role_id: BOOSTER, code: 'ROLE_MANAGED', message: 'The role Server Booster belongs to an integration' },
      {
        role_id: HARBORMASTER,
        code: 'ROLE_ABOVE_BOT',
        message: "The role Harbormaster is not below the bot's highest role",
      },
      { role_id: GONE, code: 'ROLE_UNKNOWN', message: 'The role no longer exists in the guild' },
    ]);
    expect(await writes()).toBe(1);
    expect(await granted()).toEqual([DECKHAND]);
  });

  test('a role that was just created can be assigned', async () => {
    await syncAda();
    const changed = structuredClone(world) as { chat: { guilds: { roles: object[] }[] } };
    changed.chat.guilds[0]?.roles.push({ id: GONE, name: 'New', position: 1 });
    await chat.putWorld(changed);
    await fixture.bindRank(GONE, { min: 50 });
    expect((await syncAda()).body.data.added).toEqual([GONE]);
  });

  test('a missing permission and a platform fault are reported for each role, and only a fault keeps the grant', async () => {
    for (const roleId of [DECKHAND, TABLE, VOYAGE]) await fixture.bindRank(roleId, { min: 50 });
    // The response has no error code.
    await chat.fault(`/roles/${DECKHAND}`, { status: 403 });
    await chat.fault(`/roles/${TABLE}`, { status: 500 });
    const { added, failed } = (await syncAda()).body.data;
    expect(added).toEqual([VOYAGE]);
    expect(failed).toEqual([
      { role_id: DECKHAND, code: 'MISSING_PERMISSION', message: expect.any(String) as string },
      { role_id: TABLE, code: 'PLATFORM_ERROR', message: expect.any(String) as string },
    ]);
    expect(await granted()).toEqual([TABLE, VOYAGE]);
    await chat.forget();
    await fixture.advance(60_000);
    expect((await syncAda()).body.data.added).toEqual([DECKHAND, TABLE]);
  });

  test('a grant is stored before the platform is called to assign the role', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await chat.fault('/roles/', { delay_ms: 1_000, times: 1 });
    const running = syncAda();
    await expect.poll(granted).toEqual([DECKHAND]);
    expect(await rolesOf(ADA)).not.toContain(DECKHAND);
    expect((await running).body.data.added).toEqual([DECKHAND]);
  });

  test('a dry run has the same result and changes nothing', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await fixture.bindRank(OFFICER, { min: 200 });
    await fixture.bindRank(HARBORMASTER, { min: 50 });
    const dry = (await syncAda({ dry_run: true })).body.data;
    expect([await writes(), await granted(), dry.dry_run]).toEqual([0, [], true]);
    expect((await syncAda()).body.data).toEqual({ ...dry, dry_run: false });
    expect(dry).toMatchObject({ added: [DECKHAND], removed: [OFFICER], failed: [{ role_id: HARBORMASTER }] });
  });

  test('two concurrent syncs on two replicas change each role once', async () => {
    const other = await fixture.startMembers();
    for (const roleId of [DECKHAND, TABLE]) await fixture.bindRank(roleId, { min: 50 });
    const responses = await Promise.all([syncAda(), sync({ game_id: 7001 }, { at: other })]);
    expect(statusesOf(responses)).toEqual([200, 200]);
    expect(responses.map(({ body }) => body.data.added.length).toSorted((a, b) => a - b)).toEqual([0, 2]);
    expect(await writes()).toBe(2);
    await other.stop();
  });

  test('while another process holds the lock a sync is 503 before the gateway times out, and a dry run does not wait', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await fixture.query(
      `INSERT INTO members.member_locks (guild_id, chat_id, holder, held_until)
       VALUES ('${GUILD}', '${ADA}', gen_random_uuid(), clock_timestamp() + interval '30 s')`,
    );
    const started = performance.now();
    const busy = await syncAda();
    // The gateway times out after 8 s.
    expect(performance.now() - started).toBeGreaterThan(6_000);
    expect([busy.status, busy.body.details.code]).toEqual([503, 'UNAVAILABLE']);
    expect((await syncAda({ dry_run: true })).status).toBe(200);
    await fixture.advance(30_000);
    expect((await syncAda()).body.data.added).toEqual([DECKHAND]);
    expect(await fixture.query('SELECT 1 FROM members.member_locks')).toEqual([]);
  }, 30_000);

  test('a member who is unlinked while the bindings are evaluated gets no role', async () => {
    await fixture.bindRank(DECKHAND, { min: 0 });
    await fixture.linkPastMembers(ESTHER, 7005);
    await game.fault('memberships', { delay_ms: 800, times: 1 });
    const running = sync({ chat_id: ESTHER });
    await expect.poll(async () => Object.keys(await game.calls()).length).toBeGreaterThan(0);
    await fixture.unlink({ chat_id: ESTHER });
    expect((await running).status).toBe(404);
    expect(await writes()).toBe(0);
  });

  test('a member whose link changes while the bindings are evaluated is evaluated again', async () => {
    await fixture.bindRank(CAPTAIN, { min: 200 });
    await fixture.linkPastMembers(ESTHER, 7005);
    await game.fault('memberships', { delay_ms: 2_000, times: 1 });
    const running = sync({ chat_id: ESTHER });
    await expect.poll(async () => Object.keys(await game.calls()).length).toBeGreaterThan(0);
    await fixture.unlink({ chat_id: ESTHER });
    await fixture.linkPastMembers(ESTHER, 7012);
    expect((await running).body.data).toMatchObject({ game_id: 7012, added: [CAPTAIN] });
    await fixture.unlink({ chat_id: ESTHER });
  });

  test('responds with 404 for an account that is not verified or not in the guild', async () => {
    const unverified = await sync({ chat_id: '920000000000000003' });
    expect([unverified.status, unverified.body.message]).toEqual([404, 'The user is not verified in this guild']);
    await fixture.linkPastMembers('920000000000009999', 7011);
    const absent = await sync({ game_id: 7011 });
    expect([absent.status, absent.body.message]).toEqual([404, 'The account is not in this guild']);
  });

  test.each([
    ['no account', {}],
    ['two accounts', { chat_id: ADA, game_id: 7001 }],
    ['a dry_run that is not a boolean', { chat_id: ADA, dry_run: 'yes' }],
  ])('%s is 400', async (_what, fields) => {
    expect((await sync(fields)).status).toBe(400);
  });

  test('a repeat with the same Idempotency-Key gets the first response and changes nothing', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    const first = await sync({ chat_id: ADA }, { key: 'once' });
    await byHand('DELETE', DECKHAND);
    await chat.forget();
    const repeat = await sync({ chat_id: ADA }, { key: 'once' });
    expect([repeat.headers.get('idempotency-replayed'), repeat.body]).toEqual(['true', first.body]);
    expect(await writes()).toBe(0);
  });

  test('responds with 502 while the chat platform is down, and stores no grant', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await chat.fault('/guilds', { status: 500 });
    const response = await syncAda();
    expect([response.status, response.body.details.code]).toEqual([502, 'PLATFORM_ERROR']);
    expect(await granted()).toEqual([]);
  });

  test('responds with 503 and Retry-After without the bindings service, and removes no role', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await syncAda();
    await fixture.bindings.stop();
    const response = await syncAda();
    expect([response.status, response.headers.has('retry-after')]).toEqual([503, true]);
    expect(await rolesOf(ADA)).toContain(DECKHAND);
  });
});
