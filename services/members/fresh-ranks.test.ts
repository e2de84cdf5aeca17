import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { Platform } from '#platforms/fixture.ts';
import { PATIENCE } from '#test/patience.ts';
import { GUILD, MembersFixture } from './fixture.ts';

// Ada has rank 50 in group 501.
const ADA = '920000000000000001';
const DECKHAND = '910000000000000003';
const GROUP = 501;
const ROUND_MS = 60_000;

interface World {
  chat: { guilds: { id: string; members: { id: string; nick: string | null; roles: string[] }[] }[] };
  game: {
    users: { id: number; groups: { group_id: number; ranks: number[] }[] }[];
    groups: { id: number; roles: { id: number; name: string; rank: number }[] }[];
  };
}

const fixture = new MembersFixture();
let chat: Platform;
let game: Platform;

const worldOf = async ({ url }: Platform) => (await (await fetch(`${url}/__world`)).json()) as World;
const tasks = async () => (await fixture.query('SELECT 1 FROM members.role_tasks')).length;

async function ada() {
  const { guilds } = (await worldOf(chat)).chat;
  return guilds.find(({ id }) => id === GUILD)?.members.find(({ id }) => id === ADA);
}

async function changeGame(change: (world: World['game']) => void): Promise<void> {
  const world = await worldOf(game);
  change(world.game);
  await game.putWorld(world);
}

const promote = (rank: number) =>
  changeGame(({ users }) => {
    for (const user of users) if (user.id === 7001) user.groups = [{ group_id: GROUP, ranks: [rank] }];
  });

/** Fills the caches of the bindings service with what the game platform reports now. */
async function evaluateNow(): Promise<void> {
  const response = await fixture.post('/sync/roles', { guild_id: GUILD, chat_id: ADA, dry_run: true });
  expect(response.status).toBe(200);
}

beforeAll(async () => {
  await fixture.start({ members: { RANK_POLL_SECONDS: String(ROUND_MS / 1000) } });
  chat = new Platform(fixture.simulators.chat);
  game = new Platform(fixture.simulators.game);
  await fixture.bindRank(DECKHAND, { min: 100 });
});
afterAll(() => fixture.stop());

beforeEach(async () => {
  await Promise.all([chat.forget(), game.forget()]);
  await promote(50);
  await fixture.advance(ROUND_MS);
  await fixture.unlink({ chat_id: ADA });
  await fixture.query('DELETE FROM members.guild_settings');
  await fixture.link(ADA, 7001);
  await vi.waitUntil(async () => (await tasks()) === 0, PATIENCE);
});

test('a change of rank is evaluated with the new rank, although the bindings service has cached the old one', async () => {
  const settings = { sync_on_rank_change: true, nickname_template: '{rank_name}' };
  await fixture.patch(`/guilds/${GUILD}/settings`, settings);
  const known = async () => (await fixture.query('SELECT ranks FROM members.known_ranks')).map(({ ranks }) => ranks);
  await expect.poll(known).toEqual([{ [GROUP]: [50] }]);
  // The caches of all services expire, and the bindings service reads the old rank again.
  fixture.clock.advance(ROUND_MS);
  await evaluateNow();
  await promote(100);
  // Only the database's clock advances, so that the poll is due while that rank is cached.
  await fixture.time.advance(ROUND_MS);
  await expect.poll(async () => (await ada())?.roles).toContain(DECKHAND);
  await expect.poll(tasks).toBe(0);
  const [group] = (await worldOf(game)).game.groups.filter(({ id }) => id === GROUP);
  expect((await ada())?.nick).toBe(group?.roles.find(({ rank }) => rank === 100)?.name);
});

test('roles that the game platform cannot decide now are decided as soon as it can', async () => {
  await fixture.unlink({ chat_id: ADA });
  await promote(100);
  await fixture.advance(ROUND_MS);
  await game.fault('/memberships', { status: 503 });
  await fixture.link(ADA, 7001);
  const failed = async () => (await fixture.query('SELECT last_error FROM members.role_tasks'))[0]?.['last_error'];
  await expect.poll(failed, { timeout: 15_000 }).toMatch(/^PLATFORM_ERROR: The game platform did not return/);
  expect((await ada())?.roles).not.toContain(DECKHAND);
  await game.forget();
  await fixture.advance(ROUND_MS);
  await expect.poll(async () => (await ada())?.roles, { timeout: 15_000 }).toContain(DECKHAND);
  await expect.poll(tasks).toBe(0);
});
