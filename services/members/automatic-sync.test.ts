import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Platform } from '#platforms/fixture.ts';
import { scrape } from '#test/measure/metrics.ts';
import { failWrites } from '#test/postgres/failing-table.ts';
import { GUILD, MembersFixture } from './fixture.ts';

// Ada has rank 50 in group 501, and the role Officer.
const ADA = '920000000000000001';
const DECKHAND = '910000000000000003';
const GROUP = 501;
const ROUND_MS = 60_000;

interface World {
  chat: { guilds: { id: string; owner_id?: string; members: { id: string; nick: string | null }[] }[] };
  game: {
    users: { id: number; groups: { group_id: number; ranks: number[] }[] }[];
    groups: { id: number; roles: { id: number; name: string; rank: number }[] }[];
  };
}

const fixture = new MembersFixture();
let chat: Platform;
let game: Platform;
let chatWorld: World;
let gameWorld: World;

const worldOf = async ({ url }: Platform) => (await (await fetch(`${url}/__world`)).json()) as World;
const set = (settings: object) => fixture.patch(`/guilds/${GUILD}/settings`, settings);

beforeAll(async () => {
  await fixture.start({ members: { RANK_POLL_SECONDS: String(ROUND_MS / 1000) } });
  chat = new Platform(fixture.simulators.chat);
  game = new Platform(fixture.simulators.game);
  chatWorld = await worldOf(chat);
  gameWorld = await worldOf(game);
});
beforeEach(() => fixture.bindRank(DECKHAND, { min: 100 }));
afterEach(async () => {
  await chat.forget();
  await fixture.unlink({ chat_id: ADA });
  await chat.putWorld(chatWorld);
  await game.putWorld(gameWorld);
  await fixture.advance(ROUND_MS);
  for (const table of [
    'guild_settings',
    'rank_polls',
    'known_ranks',
    'grants',
    'role_tasks',
    'events',
    'event_counters',
  ]) {
    await fixture.query(`DELETE FROM members.${table}`);
  }
  await fixture.query('DELETE FROM bindings.bindings');
});
afterAll(() => fixture.stop());

async function ada(): Promise<{ nick: string | null; roles: string[] }> {
  const headers = { authorization: 'Bot token' };
  const response = await fetch(`${chat.url}/api/v10/guilds/${GUILD}/members/${ADA}`, { headers });
  return (await response.json()) as { nick: string | null; roles: string[] };
}
const tasks = async () => (await fixture.query('SELECT 1 FROM members.role_tasks')).length;
const untilDone = async () => {
  await expect.poll(tasks).toBe(0);
};

/** Changes the ranks of Ada on the game platform. Replacing the world would also replace the members of the chat platform. */
async function promote(ranks: number[]): Promise<void> {
  const body = JSON.stringify({ group: GROUP, user: 7001, ranks });
  const headers = { 'content-type': 'application/json' };
  const { ok } = await fetch(`${game.url}/__ranks`, { method: 'POST', headers, body });
  expect(ok).toBe(true);
}

describe('a nickname template', () => {
  test('is applied with the roles of a new link, and the event reports the nickname', async () => {
    await set({ nickname_template: '[{rank_name}] {game_username}' });
    await fixture.link(ADA, 7001);
    await expect.poll(async () => (await ada()).nick).toBe('[Deckhand] Player');
    await untilDone();
    const events = await fixture.query(`SELECT data FROM members.events WHERE type = 'nickname.changed'`);
    expect(events.map(({ data }) => data)).toEqual([{ chat_id: ADA, from: null, to: '[Deckhand] Player' }]);
  });

  test('is not applied without a link, and an unlink leaves the nickname', async () => {
    await set({ nickname_template: '{game_username}' });
    await fixture.link(ADA, 7001);
    await expect.poll(async () => (await ada()).nick).toBe('Player');
    await untilDone();
    await fixture.unlink({ chat_id: ADA });
    expect((await ada()).nick).toBe('Player');
  });

  test('takes one read of the member and one call to write, and none if the nickname is right', async () => {
    await fixture.get(`/guilds/${GUILD}/roles`);
    await set({ nickname_template: '{game_username}' });
    await fixture.link(ADA, 7001);
    await untilDone();
    await chat.forget();
    await fixture.link(ADA, 7001);
    await fixture.query(
      `INSERT INTO members.role_tasks (guild_id, chat_id, version, created_at) VALUES ($1, $2, gen_random_uuid(), now())`,
      [GUILD, ADA],
    );
    await untilDone();
    expect(await chat.calls()).toEqual({ 'GET /api/v10/guilds/:guild/members/:user': 1 });
  });

  test('that makes a nickname too long is cut', async () => {
    await set({ nickname_template: `${'x'.repeat(30)} {game_username}` });
    await fixture.link(ADA, 7001);
    await expect.poll(async () => (await ada()).nick).toBe(`${'x'.repeat(30)} P`);
  });

  test('that cannot be applied does not hold up the roles: the task is done', async () => {
    await fixture.bindRank(DECKHAND, { min: 50 });
    const world = structuredClone(chatWorld);
    const guild = world.chat.guilds.find(({ id }) => id === GUILD);
    if (guild) guild.owner_id = ADA;
    await chat.putWorld(world);
    await fixture.advance(ROUND_MS);
    await set({ nickname_template: '{game_username}' });
    await fixture.link(ADA, 7001);
    await expect.poll(async () => (await ada()).roles).toContain(DECKHAND);
    await untilDone();
    expect((await ada()).nick).toBeNull();
  });
});

describe('without sync_on_link', () => {
  test('a link changes no roles, and an unlink still takes back what was given', async () => {
    await fixture.query('DELETE FROM bindings.bindings');
    await fixture.bindRank(DECKHAND, { min: 50 });
    await set({ sync_on_link: false });
    await fixture.link(ADA, 7001);
    expect([await tasks(), (await ada()).roles.includes(DECKHAND)]).toEqual([0, false]);
    await fixture.post('/sync/roles', { guild_id: GUILD, chat_id: ADA });
    expect((await ada()).roles).toContain(DECKHAND);
    await fixture.unlink({ chat_id: ADA });
    expect((await ada()).roles).not.toContain(DECKHAND);
  });
});

describe('with sync_on_rank_change', () => {
  const known = async () => (await fixture.query('SELECT ranks FROM members.known_ranks')).map(({ ranks }) => ranks);
  const nextRound = () => fixture.advance(ROUND_MS);
  const rounds = async () => (await fixture.query('SELECT run_at > now() AS waits FROM members.rank_polls'))[0];

  /** Links Ada, and waits until the poll knows the rank. */
  async function polled(): Promise<void> {
    await fixture.link(ADA, 7001);
    await untilDone();
    await set({ sync_on_rank_change: true });
    await expect.poll(known).toEqual([{ [GROUP]: [50] }]);
  }

  test('a promotion gives the role, and a demotion takes it back', async () => {
    await polled();
    const changed = async () =>
      (await scrape(fixture.members))('members_rank_poll_members_total{outcome="changed"}') ?? 0;
    const before = await changed();
    await promote([100]);
    await nextRound();
    await expect.poll(async () => (await ada()).roles).toContain(DECKHAND);
    expect((await changed()) - before).toBe(1);
    await promote([50]);
    await nextRound();
    await expect.poll(async () => (await ada()).roles).not.toContain(DECKHAND);
  });

  test('counts the members of a page once, although its transaction was rolled back before', async () => {
    const unchanged = async () =>
      (await scrape(fixture.members))('members_rank_poll_members_total{outcome="unchanged"}') ?? 0;
    await fixture.link(ADA, 7001);
    await untilDone();
    const before = await unchanged();
    const repair = await failWrites(fixture.database.url, 'members.known_ranks', GUILD, 'commit');
    onTestFinished(async () => void (await repair()));
    await set({ sync_on_rank_change: true });
    const failed = async () => (await fixture.query('SELECT last_error FROM members.rank_polls'))[0]?.['last_error'];
    await expect.poll(failed).toEqual(expect.any(String));
    await repair();
    await expect.poll(known, { timeout: 15_000 }).toEqual([{ [GROUP]: [50] }]);
    await expect.poll(unchanged).toBe(before + 1);
  });

  test('ranks that stay the same cause no role task and no write', async () => {
    await polled();
    const versions = () => fixture.query('SELECT xmin FROM members.known_ranks');
    const before = await versions();
    await nextRound();
    await expect.poll(rounds).toEqual({ waits: true });
    expect([await versions(), await tasks()]).toEqual([before, 0]);
  });

  test('a binding to another group is no change of rank', async () => {
    await polled();
    await fixture.bindRank(DECKHAND, { min: 1, groupId: 502 });
    await nextRound();
    await expect.poll(known).toEqual([{ [GROUP]: [50], 502: [] }]);
    expect(await tasks()).toBe(0);
  });

  test('a rank that changes between the link and the next round is noticed', async () => {
    await promote([100]);
    await set({ sync_on_rank_change: true });
    await expect.poll(rounds).toEqual({ waits: true });
    await fixture.link(ADA, 7001);
    await expect.poll(async () => (await ada()).roles).toContain(DECKHAND);
    await untilDone();
    await promote([50]);
    await nextRound();
    await expect.poll(async () => (await ada()).roles).not.toContain(DECKHAND);
    await expect.poll(known).toEqual([{ [GROUP]: [50] }]);
  });

  test('an unlink deletes the known ranks', async () => {
    await polled();
    await fixture.unlink({ chat_id: ADA });
    expect(await known()).toEqual([]);
  });

  test('while the game platform fails, nothing is taken away, and the change is noticed later', async () => {
    await polled();
    await promote([100]);
    await game.fault('/memberships', { status: 503 });
    await nextRound();
    const failed = async () => (await fixture.query('SELECT attempts > 0 AS failed FROM members.rank_polls'))[0];
    await expect.poll(failed).toEqual({ failed: true });
    expect(await known()).toEqual([{ [GROUP]: [50] }]);
    await game.forget();
    await fixture.advance(ROUND_MS);
    await expect.poll(async () => (await ada()).roles, { timeout: 5_000 }).toContain(DECKHAND);
  });

  test('the poll ends when the setting is turned off, and begins again when it is turned on', async () => {
    await polled();
    await set({ sync_on_rank_change: false });
    await nextRound();
    const state = async () => (await fixture.query('SELECT state FROM members.rank_polls'))[0];
    await expect.poll(state).toEqual({ state: 'done' });
    await set({ sync_on_rank_change: true });
    await promote([100]);
    await expect.poll(async () => (await ada()).roles).toContain(DECKHAND);
  });
});
