// Guarantee: transactions that touch the same rows lock them in one order. Members join by an invite and with a permission,
// leave, are timed out, unlinked and erased, and their ranks change, all at the same time, and no transaction is a victim of
// a deadlock.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { Erasure } from '#kit/personal-data/erasure.ts';
import type { RunningService } from '#kit/service/service.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { World } from '#local/simulators/world.ts';
import { JoinServiceService } from '#proto/gen/guild/members/v1/joins.ts';
import { amount } from '#test/measure/bounds.ts';
import { connect } from '#test/network/grpc.ts';
import { PATIENCE } from '#test/patience.ts';
import { openTestPool } from '#test/postgres/database.ts';
import { countDeadlocks } from '#test/postgres/deadlocks.ts';
import type { ServiceResponse } from '#test/system/signed-calls.ts';
import { whilePending } from '#test/while-pending.ts';
import { erasureRules } from './erasure.ts';
import { GUILD, MembersFixture } from './fixture.ts';

const PERSONS = amount(16, 64);
const ROLE = '910000000000000001';
const BOT_ROLE = '910000000000000009';
const GROUP = 501;
/** Create Invite, Manage Nicknames, Manage Roles. */
const PERMISSIONS = String(1n | (1n << 27n) | (1n << 28n));

const persons = Array.from({ length: PERSONS }, (_, index) => ({
  chatId: String(920000000000000000n + BigInt(index)),
  gameId: 7_000 + index,
  isErased: index % 4 === 3,
}));

function world() {
  const roles = [
    { id: ROLE, name: 'Crew', position: 1 },
    { id: BOT_ROLE, name: 'Bot', position: 9, permissions: PERMISSIONS },
  ];
  const bot = { id: '930000000000000001', roles: [BOT_ROLE] };
  const users = persons.map(({ chatId }) => ({ id: chatId, username: `user-${chatId}` }));
  const groups = [{ id: GROUP, name: 'Crew', roles: [{ id: 50110, name: 'Deckhand', rank: 10 }] }];
  const players = persons.map(({ gameId }) => ({
    id: gameId,
    name: `User${gameId}`,
    groups: [{ group_id: GROUP, ranks: [10] }],
  }));
  return new World({
    chat: { guilds: [{ id: GUILD, name: 'Harbor', roles, bot }], users },
    game: { groups, users: players },
  });
}

const fixture = new MembersFixture();
let replica: RunningService;
let joins: GrpcClient<typeof JoinServiceService>;
let close: () => void;

beforeAll(async () => {
  await fixture.start({ world: world() });
  replica = await fixture.startMembers({ CHAT_GATEWAY_ENABLED: 'true' });
  ({ client: joins, close } = connect(JoinServiceService, 'members', replica.addresses.grpc ?? '', fixture.clock));
  await fixture.bindRank(ROLE, { min: 10 });
  await fixture.patch(`/guilds/${GUILD}/settings`, {
    invite_channel_id: GUILD,
    oauth_join: true,
    sync_on_join: true,
    sync_on_rank_change: true,
    mirror_timeouts: true,
    nickname_template: '{game_username}',
  });
  await fixture.useMirroredGuild();
});
afterAll(async () => {
  close();
  await fixture.stop();
});

async function control(path: string, body: object): Promise<unknown> {
  const response = await fetch(fixture.simulators.chat + path, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return response.status === 204 ? undefined : response.json();
}
const change = (action: 'leave' | 'update', user: string, fields: object = {}) =>
  control('/__members', { guild: GUILD, user, action, ...fields });

/** Returns the data of a response. */
function dataOf({ status, body }: ServiceResponse): Record<string, unknown> {
  if (status >= 400) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.data;
}

async function joinByInvite(user: string): Promise<void> {
  const body = { guild_id: GUILD, chat_id: user };
  // A member needs no invite, and the mirror may not know yet that the person has left.
  const url = await vi.waitUntil(
    async () => dataOf(await fixture.post('/verification/invite', body, { at: replica }))['url'],
    PATIENCE,
  );
  await control('/__invites', { user, code: String(url).replace('https://discord.gg/', '') });
}

async function joinByPermission(user: string): Promise<void> {
  const granted = await control('/__access_tokens', { person: user, scope: 'guilds.join' });
  const { access_token: accessToken } = granted as { access_token: string };
  await joins.addMember({ guildId: GUILD, chatId: user, username: user, accessToken });
}

/** What happens to a person, who joins in both ways, one after the other. */
async function live({ chatId, gameId, isErased }: (typeof persons)[number], index: number): Promise<void> {
  const ways = index % 2 === 0 ? [joinByInvite, joinByPermission] : [joinByPermission, joinByInvite];
  const timeout = { timeout_until: new Date(Date.now() + 3_600_000).toISOString() };
  const steps = [
    async () => dataOf(await fixture.link(chatId, gameId, { at: index % 2 === 0 ? replica : fixture.members })),
    ...ways.flatMap((join) => [
      () => join(chatId),
      () => change('update', chatId, timeout),
      () => change('leave', chatId),
    ]),
    () => joinByPermission(chatId),
    async () => dataOf(await fixture.unlink({ chat_id: chatId })),
  ];
  // Whoever is erased during a step may have to repeat it; what counts here are the locks.
  for (const step of steps) await step().catch((error: unknown) => (isErased ? undefined : Promise.reject(error)));
}

/** Lets the next page of the rank poll find that everybody has another rank. */
async function changeRanks(): Promise<void> {
  await fixture.query(
    `WITH known AS (SELECT chat_id FROM members.known_ranks WHERE guild_id = $1 ORDER BY chat_id FOR UPDATE)
     UPDATE members.known_ranks SET ranks = '{"${GROUP}": [1]}' FROM known
     WHERE guild_id = $1 AND known_ranks.chat_id = known.chat_id`,
    [GUILD],
  );
  await fixture.query('UPDATE members.rank_polls SET run_at = clock_timestamp() WHERE holder IS NULL');
}

async function members(): Promise<{ id: string; roles: string[] }[]> {
  const response = await fetch(`${fixture.simulators.chat}/__world`);
  const { chat } = (await response.json()) as { chat: { guilds: { members: { id: string; roles: string[] }[] }[] } };
  return chat.guilds.flatMap((guild) => guild.members);
}

test(`${PERSONS} persons who join, leave, are unlinked and erased at the same time cause no deadlock`, async () => {
  const pool = await openTestPool(fixture.database.url);
  const erasure = new Erasure({
    database: pool,
    rules: erasureRules,
    log: await createLog({ service: 'test', level: 'silent' }),
  });
  const erased = persons.filter(({ isErased }) => isErased);
  const lives = Promise.all(persons.map(live));
  await Promise.all([
    lives,
    whilePending(lives, changeRanks),
    whilePending(lives, async () => {
      for (const { chatId } of erased) await erasure.eraseUser(GUILD, { chat: chatId }, false);
    }),
  ]);
  const isIdle = async () => (await fixture.query('SELECT FROM members.role_tasks')).length === 0;
  await vi.waitUntil(isIdle, PATIENCE);
  await pool.close();
  // Whoever was unlinked has lost the role, except those whose assigned roles were erased.
  const remaining = new Set(persons.filter(({ isErased }) => !isErased).map(({ chatId }) => chatId));
  expect((await members()).filter(({ id, roles }) => remaining.has(id) && roles.length > 0)).toEqual([]);
  await Promise.all([replica.stop(), fixture.members.stop()]);
  expect(await countDeadlocks(fixture.database.url)).toBe(0);
  fixture.members = await fixture.startMembers();
});
