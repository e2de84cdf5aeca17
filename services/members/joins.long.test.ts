// Guarantee: a linked user who joins has the roles and the nickname within two seconds (p95), at 500 joins a minute in 50
// guilds, with the rate limits of the platforms.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { World } from '#local/simulators/world.ts';
import { Platform } from '#platforms/fixture.ts';
import { amount, LONG, withinBound } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { PATIENCE } from '#test/patience.ts';
import { MembersFixture } from './fixture.ts';

const GUILDS = amount(10, 50);
const JOINS = amount(40, 500);
const JOINS_PER_SECOND = 500 / 60;
const BOUND_MS = 2_000;
const GROUP = 501;

const numberOf = (base: bigint, index: number) => String(base + BigInt(index));
const guildIdOf = (index: number) => numberOf(900000000000010000n, index);
/** The two roles of a guild that have a binding. */
const rolesOf = (index: number) => [1, 2].map((role) => numberOf(910000000000010000n, index * 10 + role));
const joiners = Array.from({ length: JOINS }, (_, index) => ({
  guild: index % GUILDS,
  chatId: numberOf(920000000000010000n, index),
  gameId: 10_000 + index,
}));

function world() {
  const role = (id: string, position: number) => ({ id, name: `Role ${id}`, position, managed: false, color: 0 });
  const guilds = Array.from({ length: GUILDS }, (_, index) => {
    const botRole = numberOf(910000000000010000n, index * 10 + 5);
    return {
      id: guildIdOf(index),
      name: `Guild ${index}`,
      roles: [...rolesOf(index).map((id, position) => role(id, position + 1)), role(botRole, 9)],
      members: [],
      bot: { id: '930000000000000001', roles: [botRole] },
    };
  });
  const users = joiners.map(({ gameId }) => ({
    id: gameId,
    name: `User${gameId}`,
    groups: [{ group_id: GROUP, ranks: [10] }],
  }));
  const groups = [{ id: GROUP, name: 'Crew', roles: [{ id: 50110, name: 'Deckhand', rank: 10 }] }];
  return new World({ chat: { guilds }, game: { groups, users } });
}

const fixture = new MembersFixture();
let chat: Platform;

beforeAll(async () => {
  const limits = {
    CHAT_GLOBAL_RPS: '50',
    GAME_GLOBAL_RPS: '20',
    GAME_MEMBERSHIPS_PER_MINUTE: '300',
    CHAT_PROCESSES: '1',
  };
  const members = { ...limits, CHAT_GATEWAY_ENABLED: 'true' };
  await fixture.start({ world: world(), limitScale: 1, members, bindings: limits });
  chat = new Platform(fixture.simulators.chat);
  for (let index = 0; index < GUILDS; index++) {
    const guildId = guildIdOf(index);
    for (const roleId of rolesOf(index)) await fixture.bindRank(roleId, { min: 10 }, guildId);
    await fixture.patch(
      `/guilds/${guildId}/settings`,
      { sync_on_join: true, nickname_template: '{game_username}' },
      { guildId },
    );
  }
  for (const [index, { guild, chatId, gameId }] of joiners.entries()) {
    await fixture.query(
      `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, now(), now())`,
      [guildIdOf(guild), chatId, gameId, `User${gameId}`, index + 1],
    );
  }
  // The guilds are in use: their roles are mirrored.
  for (let index = 0; index < GUILDS; index++) {
    await vi.waitUntil(() => fixture.isMirrorLive(guildIdOf(index)), PATIENCE);
    await fixture.get(`/guilds/${guildIdOf(index)}/roles`, { guildId: guildIdOf(index) });
  }
  await chat.forget();
}, 120_000);
afterAll(() => fixture.stop());

/** Lets the users join evenly spread. Returns when each of them joined, by chat ID. */
async function joinAll(): Promise<Map<string, number>> {
  const started = performance.now();
  const joined = new Map<string, number>();
  for (const [index, { guild, chatId }] of joiners.entries()) {
    await delay(Math.max(0, started + (index * 1000) / JOINS_PER_SECOND - performance.now()));
    joined.set(chatId, Date.now());
    const body = JSON.stringify({ guild: guildIdOf(guild), user: chatId, action: 'join' });
    const response = await fetch(`${chat.url}/__members`, { method: 'POST', body });
    if (!response.ok) throw new Error(await response.text());
  }
  return joined;
}

interface SimulatedMember {
  id: string;
  nick: string | null;
  roles: string[];
}

async function members(): Promise<SimulatedMember[]> {
  const { chat: simulated } = (await (await fetch(`${chat.url}/__world`)).json()) as {
    chat: { guilds: { members: SimulatedMember[] }[] };
  };
  return simulated.guilds.flatMap((guild) => guild.members);
}

test(`${JOINS} users who join have two roles and a nickname within ${BOUND_MS} ms`, async () => {
  const joined = await joinAll();
  // The event of the nickname is recorded when everything is done.
  const changed = () =>
    fixture.query(
      `SELECT data->>'chat_id' AS chat_id, extract(epoch FROM created_at)::float8 * 1000 AS at
       FROM members.events WHERE type = 'nickname.changed'`,
    );
  await vi.waitUntil(async () => (await changed()).length === JOINS, { timeout: 60_000, interval: 500 });
  const isComplete = ({ nick, roles }: SimulatedMember) => nick?.startsWith('User') === true && roles.length === 2;
  expect((await members()).filter(isComplete)).toHaveLength(JOINS);

  const done = await changed();
  const times = done.map((row) => Number(row['at']) - (joined.get(String(row['chat_id'])) ?? 0)).sort((a, b) => a - b);
  expect(times).toHaveLength(JOINS);
  const calls = Object.entries(await chat.calls()).filter(([name]) => name.includes('/api/'));
  const total = calls.reduce((sum, [, count]) => sum + count, 0);
  const reads = Object.values(await new Platform(fixture.simulators.game).calls()).reduce(
    (sum, count) => sum + count,
    0,
  );
  printFigure('calls to the game platform per join', (reads / JOINS).toFixed(2));
  printFigure('calls to the chat platform per join', (total / JOINS).toFixed(2));
  printFigure('calls', JSON.stringify(Object.fromEntries(calls)));
  printFigure('from join to roles and nickname, median', `${Math.round(times[Math.floor(JOINS / 2)] ?? 0)} ms`);
  withinBound('from join to roles and nickname, p95', times[Math.floor(JOINS * 0.95)] ?? 0, BOUND_MS);
  // The first joins of the short form also read each guild.
  expect(total / JOINS).toBeLessThan(LONG ? 3.2 : 4);
}, 240_000);
