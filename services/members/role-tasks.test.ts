import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Platform } from '#platforms/fixture.ts';
import { scrape } from '#test/measure/metrics.ts';
import { GUILD, MembersFixture } from './fixture.ts';

// Ada has rank 50 in group 501, and the roles Officer and Verified.
const ADA = '920000000000000001';
const OFFICER = '910000000000000001';
const DECKHAND = '910000000000000003';
const TABLE = '910000000000000004';

const fixture = new MembersFixture();
let chat: Platform;
interface World {
  chat: { guilds: { roles: { id: string; position: number }[] }[] };
}
let world: World;

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  world = (await (await fetch(`${chat.url}/__world`)).json()) as World;
});
beforeEach(async () => {
  await chat.putWorld(world);
  await fixture.bindRank(DECKHAND, { min: 50 });
  await fixture.bindRank(OFFICER, { min: 50 });
});
afterEach(async () => {
  await chat.forget();
  await fixture.advance(60_000);
  await fixture.unlink({ chat_id: ADA });
  for (const table of ['bindings.bindings', 'members.grants', 'members.role_tasks']) {
    await fixture.query(`DELETE FROM ${table}`);
  }
});
afterAll(() => fixture.stop());

const sync = (request: object = {}) => fixture.post('/sync/roles', { guild_id: GUILD, chat_id: ADA }, request);

async function rolesOfAda(): Promise<string[]> {
  const member = await fetch(`${chat.url}/api/v10/guilds/${GUILD}/members/${ADA}`, {
    headers: { authorization: 'Bot token' },
  });
  return ((await member.json()) as { roles: string[] }).roles;
}
const tasks = async () => (await fixture.query('SELECT 1 FROM members.role_tasks')).length;

/** Links Ada and waits until she has the roles that follow. */
async function linked(): Promise<void> {
  expect((await fixture.link(ADA, 7001)).status).toBe(201);
  await expect.poll(rolesOfAda).toContain(DECKHAND);
  await expect.poll(tasks).toBe(0);
}

describe('roles follow a change of the link', () => {
  test('a link grants the roles, and its response does not wait for them', async () => {
    await chat.fault('/roles/', { delay_ms: 500, times: 1 });
    expect((await fixture.link(ADA, 7001)).status).toBe(201);
    expect(await rolesOfAda()).not.toContain(DECKHAND);
    await expect.poll(rolesOfAda).toContain(DECKHAND);
    await expect.poll(tasks).toBe(0);
  });

  test('a sync waits while the roles of a new link are granted', async () => {
    await chat.fault('/roles/', { delay_ms: 4_500, times: 1 });
    expect((await fixture.link(ADA, 7001)).status).toBe(201);
    await expect.poll(async () => (await fixture.query('SELECT 1 FROM members.grants')).length).toBe(1);
    const response = await sync();
    expect([response.status, response.body.data.unchanged]).toEqual([200, [DECKHAND, OFFICER]]);
  }, 20_000);

  test('a redeemed code grants the roles', async () => {
    const { code } = await fixture.token(ADA);
    expect((await fixture.redeem({ code }, 7001)).status).toBe(200);
    await expect.poll(rolesOfAda).toContain(DECKHAND);
  });

  test('an unlink removes the roles that a sync granted, and no others, before its response', async () => {
    await linked();
    expect((await fixture.unlink({ game_id: 7001 })).status).toBe(200);
    expect(await rolesOfAda()).toEqual([OFFICER, '910000000000000006']);
    expect([await tasks(), await fixture.query('SELECT 1 FROM members.grants')]).toEqual([0, []]);
    const audit = (await (await fetch(`${chat.url}/__audit`)).json()) as { entries: { reason: string }[] };
    expect(audit.entries.at(-1)?.reason).toBe('Guild Data: no longer verified');
  });

  test('an unlink without granted roles makes no call to the chat platform', async () => {
    await fixture.query('DELETE FROM bindings.bindings');
    await fixture.link(ADA, 7001);
    await expect.poll(tasks).toBe(0);
    await chat.forget();
    await fixture.unlink({ chat_id: ADA });
    expect(await chat.calls()).toEqual({});
  });

  test('an unlink succeeds while the chat platform is down, and the roles are removed a second after it has recovered', async () => {
    await linked();
    await chat.fault('/guilds', { status: 503 });
    expect((await fixture.unlink({ chat_id: ADA })).status).toBe(200);
    expect(await fixture.linkOf(ADA)).toBeUndefined();
    await expect.poll(tasks).toBe(1);
    await chat.forget();
    expect(await rolesOfAda()).toContain(DECKHAND);
    await fixture.advance(1_000);
    await expect.poll(rolesOfAda).not.toContain(DECKHAND);
    await expect.poll(tasks).toBe(0);
  });

  test('a slow chat platform delays an unlink by three seconds at most', async () => {
    await linked();
    await chat.fault('/roles/', { delay_ms: 4_500, times: 1 });
    const started = performance.now();
    expect((await fixture.unlink({ chat_id: ADA })).status).toBe(200);
    expect(performance.now() - started).toBeLessThan(4_400);
    await expect.poll(rolesOfAda).not.toContain(DECKHAND);
    await expect.poll(tasks).toBe(0);
  });

  test('another process finishes the role task of a process that died', async () => {
    await linked();
    // As a killed process leaves it: settled and queued, and no role removed.
    await fixture.query('DELETE FROM lookup.links WHERE guild_id = $1 AND chat_id = $2', [GUILD, ADA]);
    await fixture.query(
      `INSERT INTO members.role_tasks (guild_id, chat_id, version, created_at)
       VALUES ($1, $2, gen_random_uuid(), clock_timestamp())`,
      [GUILD, ADA],
    );
    await expect.poll(rolesOfAda).not.toContain(DECKHAND);
    await expect.poll(tasks).toBe(0);
  });

  test('a member that is unlinked while a sync grants its roles ends without them', async () => {
    await fixture.query('DELETE FROM bindings.bindings');
    await fixture.link(ADA, 7001);
    await expect.poll(tasks).toBe(0);
    await fixture.bindRank(DECKHAND, { min: 50 });
    await fixture.bindRank(TABLE, { min: 50 });
    await chat.fault('/roles/', { delay_ms: 800, times: 1 });
    const running = sync();
    await expect.poll(async () => (await fixture.query('SELECT 1 FROM members.grants')).length).toBe(2);
    expect((await fixture.unlink({ chat_id: ADA })).status).toBe(200);
    expect((await running).body.data.added).toEqual([DECKHAND, TABLE]);
    await expect.poll(rolesOfAda).toEqual([OFFICER, '910000000000000006']);
    expect(await fixture.query('SELECT 1 FROM members.grants')).toEqual([]);
  });

  test.each([
    ['is now above the bot', 'ROLE_ABOVE_BOT'],
    ['the bot may not remove', 'MISSING_PERMISSION'],
  ])(
    'a granted role that %s is counted in a metric, stays recorded, and is removed as soon as that is possible',
    async (_what, code) => {
      await linked();
      const place = world.chat.guilds[0]?.roles.find(({ id }) => id === DECKHAND)?.position;
      const putDeckhand = async (position: number | undefined) => {
        const now = (await (await fetch(`${chat.url}/__world`)).json()) as World;
        for (const role of now.chat.guilds[0]?.roles ?? []) if (role.id === DECKHAND) role.position = position ?? 0;
        await chat.putWorld(now);
      };
      const missing = { status: 403, body: { code: 50013, message: 'Missing Permissions' } };
      if (code === 'ROLE_ABOVE_BOT') await putDeckhand(99);
      else await chat.fault('/roles/', missing);
      // The guild's roles are cached for a minute.
      await fixture.advance(60_000);
      const failures = async () =>
        (await scrape(fixture.members))(`members_roles_not_taken_back_total{code="${code}"}`) ?? 0;
      const before = await failures();
      expect((await fixture.unlink({ chat_id: ADA })).status).toBe(200);
      expect(await failures()).toBe(before + 1);
      expect([await tasks(), (await fixture.query('SELECT 1 FROM members.grants')).length]).toEqual([1, 1]);
      if (code === 'ROLE_ABOVE_BOT') await putDeckhand(place);
      await chat.forget();
      await fixture.advance(120_000);
      await expect.poll(rolesOfAda).not.toContain(DECKHAND);
      await expect.poll(tasks).toBe(0);
      expect(await fixture.query('SELECT 1 FROM members.grants')).toEqual([]);
    },
  );

  test('a member that is linked to another player gets the roles of that player', async () => {
    await linked();
    await fixture.unlink({ chat_id: ADA });
    await fixture.query('DELETE FROM bindings.bindings WHERE chat_role_id = $1', [DECKHAND]);
    await fixture.bindRank(TABLE, { min: 200 });
    await fixture.link(ADA, 7012);
    await expect.poll(rolesOfAda).toContain(TABLE);
    expect(await rolesOfAda()).not.toContain(DECKHAND);
  });
});
