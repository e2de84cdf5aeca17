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
  // Ada has rank 50 in group 501, and two roles. Linked past members, so that no roles follow of themselves.
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
/** Changes Ada's roles past members. */
const byHand = (method: 'PUT' | 'DELETE', roleId: string) =>
  fetch(`${chat.url}/api/v10/guilds/${GUILD}/members/${ADA}/roles/${roleId}`, {
    method,
    headers: { authorization: 'Bot token' },
  });

describe('POST /sync/roles', () => {
  test('gives what a binding wants and takes what none wants, with a reason, and says what it did', async () => {
    await fixture.bindRank(DECKHAND, { min: 50, max: 99 });
    await fixture.bindRank(OFFICER, { min: 100 });
    await fixture.bindRank(CAPTAIN, { min: 200 });
    const answer = await syncAda();
    expect(answer.body).toEqual({
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

  test('a second sync makes no write and tells what is unchanged', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await fixture.bindRank(OFFICER, { min: 50 });
    await syncAda();
    await chat.forget();
    const { added, removed, unchanged } = (await sync({ game_id: 7001 })).body.data;
    expect([added, removed, unchanged]).toEqual([[], [], [DECKHAND, OFFICER]]);
    expect(await writes()).toBe(0);
  });

  test('of many bindings of a role one is enough', async () => {
    await fixture.bindRank(DECKHAND, { min: 200 });
    await fixture.bindRank(DECKHAND, { min: 50, max: 50 });
    await fixture.bindRank(DECKHAND, { min: 1, groupId: 502 });
    const { added, bindings } = (await syncAda()).body.data;
    expect([added, bindings]).toEqual([[DECKHAND], { evaluated: 3, matched: 1, unknown: 0 }]);
    await fixture.query('DELETE FROM bindings.bindings WHERE min_rank = 50');
    expect((await syncAda()).body.data.removed).toEqual([DECKHAND]);
  });

  test('while the game platform fails nothing is given or taken', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await fixture.bindRank(OFFICER, { min: 200 });
    await game.fault('memberships', { status: 500 });
    const { added, removed, unchanged, bindings } = (await syncAda()).body.data;
    expect([added, removed, unchanged]).toEqual([[], [], [OFFICER]]);
    expect(bindings).toEqual({ evaluated: 2, matched: 0, unknown: 2 });
    expect(await writes()).toBe(0);
  });

  test('a role whose binding is gone is taken if a sync gave it, and left if somebody else did', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await fixture.bindRank(OFFICER, { min: 50 });
    await syncAda();
    await fixture.query('DELETE FROM bindings.bindings');
    expect((await syncAda()).body.data).toMatchObject({ removed: [DECKHAND], unchanged: [] });
    expect(await rolesOf(ADA)).toContain(OFFICER);
    expect(await granted()).toEqual([]);
  });

  test('a role that was given, taken by hand and given back by hand is not ours any more', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await syncAda();
    await byHand('DELETE', DECKHAND);
    await fixture.query('DELETE FROM bindings.bindings');
    await syncAda();
    await byHand('PUT', DECKHAND);
    expect((await syncAda()).body.data.removed).toEqual([]);
  });

  test('what can not be given or taken is told with a code, without a call; the rest is done', async () => {
    for (const roleId of [BOOSTER, HARBORMASTER, GONE, DECKHAND]) await fixture.bindRank(roleId, { min: 50 });
    const answer = await syncAda();
    expect(answer.status).toBe(200);
    const { added, failed } = answer.body.data;
    expect(added).toEqual([DECKHAND]);
    expect(failed).toEqual([
      { role_id: BOOSTER, code: 'ROLE_MANAGED', message: 'The role Server Booster belongs to an integration' },
      {
        role_id: HARBORMASTER,
        code: 'ROLE_ABOVE_BOT',
        message: "The role Harbormaster is not below the bot's highest role",
      },
      { role_id: GONE, code: 'ROLE_UNKNOWN', message: 'The guild has no such role any more' },
    ]);
    expect(await writes()).toBe(1);
    expect(await granted()).toEqual([DECKHAND]);
  });

  test('a role that was made a moment ago is known', async () => {
    await syncAda();
    const changed = structuredClone(world) as { chat: { guilds: { roles: object[] }[] } };
    changed.chat.guilds[0]?.roles.push({ id: GONE, name: 'New', position: 1 });
    await chat.putWorld(changed);
    await fixture.bindRank(GONE, { min: 50 });
    expect((await syncAda()).body.data.added).toEqual([GONE]);
  });

  test('a missing permission and a fault of the platform are told for each role, and only a fault keeps the grant', async () => {
    for (const roleId of [DECKHAND, TABLE, VOYAGE]) await fixture.bindRank(roleId, { min: 50 });
    // Without a code of its own.
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

  test('a role is noted before the platform is asked to give it', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await chat.fault('/roles/', { delay_ms: 1_000, times: 1 });
    const running = syncAda();
    await expect.poll(granted).toEqual([DECKHAND]);
    expect(await rolesOf(ADA)).not.toContain(DECKHAND);
    expect((await running).body.data.added).toEqual([DECKHAND]);
  });

  test('a dry run says the same and changes nothing', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await fixture.bindRank(OFFICER, { min: 200 });
    await fixture.bindRank(HARBORMASTER, { min: 50 });
    const dry = (await syncAda({ dry_run: true })).body.data;
    expect([await writes(), await granted(), dry.dry_run]).toEqual([0, [], true]);
    expect((await syncAda()).body.data).toEqual({ ...dry, dry_run: false });
    expect(dry).toMatchObject({ added: [DECKHAND], removed: [OFFICER], failed: [{ role_id: HARBORMASTER }] });
  });

  test('two at once on two replicas write each role once', async () => {
    const other = await fixture.startMembers();
    for (const roleId of [DECKHAND, TABLE]) await fixture.bindRank(roleId, { min: 50 });
    const answers = await Promise.all([syncAda(), sync({ game_id: 7001 }, { at: other })]);
    expect(statusesOf(answers)).toEqual([200, 200]);
    expect(answers.map(({ body }) => body.data.added.length).toSorted((a, b) => a - b)).toEqual([0, 2]);
    expect(await writes()).toBe(2);
    await other.stop();
  });

  test('while another holds the lock a sync is 503 after the time that a call has, and a dry run does not wait for it', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await fixture.query(
      `INSERT INTO members.member_locks (guild_id, chat_id, holder, held_until)
       VALUES ('${GUILD}', '${ADA}', gen_random_uuid(), clock_timestamp() + interval '30 s')`,
    );
    const started = performance.now();
    const busy = await syncAda();
    // The gateway waits for 8 s.
    expect(performance.now() - started).toBeGreaterThan(6_000);
    expect([busy.status, busy.body.details.code]).toEqual([503, 'UNAVAILABLE']);
    expect((await syncAda({ dry_run: true })).status).toBe(200);
    await fixture.advance(30_000);
    expect((await syncAda()).body.data.added).toEqual([DECKHAND]);
    expect(await fixture.query('SELECT 1 FROM members.member_locks')).toEqual([]);
  }, 30_000);

  test('who is unlinked while the bindings are weighed is given nothing', async () => {
    await fixture.bindRank(DECKHAND, { min: 0 });
    await fixture.linkPastMembers(ESTHER, 7005);
    await game.fault('memberships', { delay_ms: 800, times: 1 });
    const running = sync({ chat_id: ESTHER });
    await expect.poll(async () => Object.keys(await game.calls()).length).toBeGreaterThan(0);
    await fixture.unlink({ chat_id: ESTHER });
    expect((await running).status).toBe(404);
    expect(await writes()).toBe(0);
  });

  test('who is linked anew while the bindings are weighed is weighed anew', async () => {
    await fixture.bindRank(CAPTAIN, { min: 200 });
    await fixture.linkPastMembers(ESTHER, 7005);
    await game.fault('memberships', { delay_ms: 800, times: 1 });
    const running = sync({ chat_id: ESTHER });
    await expect.poll(async () => Object.keys(await game.calls()).length).toBeGreaterThan(0);
    await fixture.unlink({ chat_id: ESTHER });
    await fixture.linkPastMembers(ESTHER, 7012);
    expect((await running).body.data).toMatchObject({ game_id: 7012, added: [CAPTAIN] });
    await fixture.unlink({ chat_id: ESTHER });
  });

  test('who is not verified, and who is verified and not in the guild, are 404', async () => {
    const unverified = await sync({ chat_id: '920000000000000003' });
    expect([unverified.status, unverified.body.message]).toEqual([404, 'The user is not verified in this guild']);
    await fixture.linkPastMembers('920000000000009999', 7011);
    const absent = await sync({ game_id: 7011 });
    expect([absent.status, absent.body.message]).toEqual([404, 'The account is not in this guild']);
  });

  test.each([
    ['no account', {}],
    ['two accounts', { chat_id: ADA, game_id: 7001 }],
    ['a dry run that is no boolean', { chat_id: ADA, dry_run: 'yes' }],
  ])('%s is 400', async (_what, fields) => {
    expect((await sync(fields)).status).toBe(400);
  });

  test('a repeat with the same key is given the first answer and writes nothing', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    const first = await sync({ chat_id: ADA }, { key: 'once' });
    await byHand('DELETE', DECKHAND);
    await chat.forget();
    const repeat = await sync({ chat_id: ADA }, { key: 'once' });
    expect([repeat.headers.get('idempotency-replayed'), repeat.body]).toEqual(['true', first.body]);
    expect(await writes()).toBe(0);
  });

  test('a chat platform that is down is 502, and nothing is noted', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await chat.fault('/guilds', { status: 500 });
    const answer = await syncAda();
    expect([answer.status, answer.body.details.code]).toEqual([502, 'PLATFORM_ERROR']);
    expect(await granted()).toEqual([]);
  });

  test('without bindings it is 503 with Retry-After, and nothing is taken', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    await syncAda();
    await fixture.bindings.stop();
    const answer = await syncAda();
    expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true]);
    expect(await rolesOf(ADA)).toContain(DECKHAND);
  });
});
