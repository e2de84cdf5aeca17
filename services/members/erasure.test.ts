// Guarantees: erasing a person or a guild deletes what was stored when the person was invited or joined with a permission, and
// nothing of others; afterwards nobody joins the guild.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { JoinServiceService } from '#proto/gen/guild/members/v1/joins.ts';
import { connect } from '#test/network/grpc.ts';
import { PATIENCE } from '#test/patience.ts';
import { tablesWithRowsOf } from '#test/postgres/database.ts';
import { TEST_ADMIN_SECRETS } from '#test/system/keys.ts';
import { GUILD, MembersFixture, OTHER_GUILD } from './fixture.ts';

// Neither is in a guild of the demo world.
const NORA = '920000000000000020';
const OLAF = '920000000000000021';
const DECKHAND = '910000000000000003';

const fixture = new MembersFixture();
let erasure: GrpcClient<typeof ErasureServiceService>;
let joins: GrpcClient<typeof JoinServiceService>;
const closers: (() => void)[] = [];

beforeAll(async () => {
  await fixture.start();
  const address = fixture.members.addresses.grpc ?? '';
  const forErasure = connect(ErasureServiceService, 'members', address, fixture.clock, TEST_ADMIN_SECRETS);
  const forJoins = connect(JoinServiceService, 'members', address, fixture.clock);
  closers.push(forErasure.close, forJoins.close);
  [erasure, joins] = [forErasure.client, forJoins.client];
  await fixture.bindRank(DECKHAND, { min: 1 });
  await fixture.patch(`/guilds/${GUILD}/settings`, { invite_channel_id: GUILD, oauth_join: true });
  await fixture.link(NORA, 7001);
  await fixture.link(OLAF, 7002);
  // What the other guild has, as if its players had been invited too.
  await fixture.query(
    `INSERT INTO members.role_invites (guild_id, chat_id, channel_id, role_ids, created_at, expires_at, kept_until)
     SELECT $1, unnest($2::text[]), $1, '{}', now(), now() + interval '1 hour', now() + interval '1 hour'`,
    [OTHER_GUILD, [NORA, OLAF]],
  );
  await invite(NORA);
  await invite(OLAF);
  await join(NORA);
  await untilIdle();
}, 120_000);
afterAll(async () => {
  for (const close of closers) close();
  await fixture.stop();
});

async function invite(chatId: string): Promise<void> {
  const { status } = await fixture.post('/verification/invite', { guild_id: GUILD, chat_id: chatId }, { key: chatId });
  expect(status).toBe(201);
}
async function join(chatId: string): Promise<void> {
  const body = JSON.stringify({ person: chatId, scope: 'guilds.join' });
  const response = await fetch(`${fixture.simulators.chat}/__access_tokens`, { method: 'POST', body });
  const { access_token: accessToken } = (await response.json()) as { access_token: string };
  await joins.addMember({ guildId: GUILD, chatId, username: 'name', accessToken });
}
const untilIdle = () =>
  vi.waitUntil(async () => (await fixture.query('SELECT FROM members.role_tasks')).length === 0, PATIENCE);

const invited = async (guildId: string) =>
  (await fixture.query('SELECT chat_id FROM members.role_invites WHERE guild_id = $1 ORDER BY chat_id', [guildId])).map(
    (row) => row['chat_id'],
  );
const granted = async () =>
  (
    await fixture.query('SELECT DISTINCT chat_id FROM members.grants WHERE guild_id = $1 ORDER BY chat_id', [GUILD])
  ).map((row) => row['chat_id']);
/** The events of the guild that name a person, as recorded or erased. */
const naming = (chatId: string) =>
  fixture.query('SELECT type FROM members.events WHERE guild_id = $1 AND persons @> ARRAY[$2]', [
    GUILD,
    `chat:${chatId}`,
  ]);

test('erasing a person deletes the invite and the assigned roles, and no row names the person any more', async () => {
  expect([await invited(GUILD), await granted()]).toEqual([
    [NORA, OLAF],
    [NORA, OLAF],
  ]);
  expect((await naming(NORA)).length).toBeGreaterThan(0);
  const { tables } = await erasure.eraseUser({ guildId: GUILD, chatId: NORA, gameId: 7001, dryRun: false });
  expect(tables).toContainEqual({ table: 'members.role_invites', rows: 1 });
  expect(tables).toContainEqual({ table: 'members.grants', rows: 1 });
  expect([await invited(GUILD), await granted(), await naming(NORA)]).toEqual([[OLAF], [OLAF], []]);
  expect(await invited(OTHER_GUILD)).toEqual([NORA, OLAF]);
});

test('erasing a guild deletes its invites, its settings and everything else but the number of its last event', async () => {
  const { tables, isDone } = await erasure.eraseGuild({ guildId: GUILD, dryRun: false });
  expect(isDone).toBe(true);
  expect(tables).toContainEqual({ table: 'members.role_invites', rows: 1 });
  expect(await tablesWithRowsOf(fixture.database.url, ['members'], GUILD)).toEqual(['members.event_counters']);
  expect(await invited(OTHER_GUILD)).toEqual([NORA, OLAF]);
});

test('a permission that was given before the erasure of the guild adds nobody after it', async () => {
  await expect(join(OLAF)).rejects.toMatchObject({ code: 'NOT_APPLICABLE' });
  expect(await tablesWithRowsOf(fixture.database.url, ['members'], GUILD)).toEqual(['members.event_counters']);
});
