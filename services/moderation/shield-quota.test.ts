import { afterAll, beforeAll, expect, test } from 'vitest';
import { ShieldAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { connect } from '#test/network/grpc.ts';
import { ADMIN_SECRET, ModerationFixture, newGuild, newPlayer } from './fixture.ts';

const MAX = 5;

const fixture = new ModerationFixture();
let admin: ReturnType<typeof connect<typeof ShieldAdminServiceService>>;
beforeAll(async () => {
  await fixture.start({ MAX_SHIELD_ENTRIES: String(MAX) });
  const address = fixture.moderation.addresses.grpc ?? '';
  admin = connect(ShieldAdminServiceService, 'moderation', address, fixture.clock, [ADMIN_SECRET]);
});
afterAll(async () => {
  admin.close();
  await fixture.stop();
});

const add = (guildId: string, gameId: number) =>
  admin.client.addEntry({ guildId, gameId, reason: 'Sells items', category: 'scammer', actor: 'ada' });

test('concurrent additions fill a list exactly to its maximum, and existing entries can be replaced', async () => {
  const guildId = newGuild();
  const players = Array.from({ length: 3 * MAX }, newPlayer);
  const added = await Promise.allSettled(players.map((gameId) => add(guildId, gameId)));
  expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(MAX);
  const rejected = added.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
  expect(rejected.reason).toMatchObject({
    code: 'QUOTA_EXCEEDED',
    message: `The guild has ${MAX} entries in its flagged list, which is the maximum`,
    details: { quota: 'shield_entries', limit: MAX },
  });
  const first = players[added.findIndex(({ status }) => status === 'fulfilled')] ?? 0;
  expect((await add(guildId, first)).entry?.gameId).toBe(first);
  await admin.client.removeEntry({ guildId, gameId: first, actor: 'ada' });
  expect((await add(guildId, newPlayer())).entry).toBeDefined();
  await expect(add(guildId, newPlayer())).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
});

test('the list for all guilds has no maximum', async () => {
  for (let count = 0; count <= MAX; count++) expect((await add('', newPlayer())).entry).toBeDefined();
});
