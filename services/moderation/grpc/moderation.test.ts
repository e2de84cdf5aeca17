import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { ShieldAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { ModerationServiceService } from '#proto/gen/guild/moderation/v1/moderation.ts';
import { connect } from '#test/network/grpc.ts';
import { GUILD, ModerationFixture, newPlayer } from '../fixture.ts';

const fixture = new ModerationFixture();
let moderation: ReturnType<typeof connect<typeof ModerationServiceService>>;

beforeAll(async () => {
  await fixture.start();
  const address = fixture.moderation.addresses.grpc ?? '';
  moderation = connect(ModerationServiceService, 'moderation', address, fixture.clock);
});
afterAll(async () => {
  moderation.close();
  await fixture.stop();
});

const now = () => unixSeconds(fixture.clock.now());
const faults = (code: string, ...paths: string[]) =>
  expect.objectContaining({
    code,
    details: { errors: paths.map((path) => expect.objectContaining({ path: `request.${path}` })) },
  });

describe('a dashboard', () => {
  const nothing = { guildId: GUILD, noCache: false };

  test('bans, reads and lifts as the REST routes do', async () => {
    const gameId = newPlayer();
    const ban = { guildId: GUILD, kind: 'ban', gameId, reason: 'R', replace: false };
    const { punishment } = await moderation.client.punish({
      ...ban,
      durationSeconds: 60,
      placeId: 9,
      moderatorChatId: '920000000000000001',
    });
    expect(punishment).toEqual({
      id: expect.any(Number),
      gameId,
      reason: 'R',
      moderatorChatId: '920000000000000001',
      placeId: 9,
      createdAt: now(),
      expiresAt: now() + 60,
    });
    await expect(moderation.client.punish({ ...ban, placeId: 9 })).rejects.toMatchObject({ code: 'CONFLICT' });
    await moderation.client.punish({ ...ban, kind: 'mute' });
    const { players } = await moderation.client.getStatus({ ...nothing, gameIds: [gameId, newPlayer()], placeId: 9 });
    expect(players).toMatchObject([
      { gameId, ban: punishment, mute: { reason: 'R' }, flagged: false },
      { ban: undefined, mute: undefined, flagged: false },
    ]);
    expect((await fixture.banStatus(gameId, '?place_id=9')).banned).toBe(true);
    const lifted = await moderation.client.lift({ guildId: GUILD, kind: 'ban', gameId, scope: 'place', placeId: 9 });
    expect(lifted.punishment).toEqual(punishment);
    await expect(moderation.client.lift({ guildId: GUILD, kind: 'ban', gameId })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  test('gets every fault of a request', async () => {
    const many = Array.from({ length: 26 }, newPlayer);
    await expect(moderation.client.getStatus({ guildId: '1', gameIds: many, noCache: false })).rejects.toEqual(
      faults('INVALID_REQUEST', 'guildId', 'gameIds'),
    );
    const wrong = { guildId: GUILD, kind: 'kick', gameId: 0, reason: '', durationSeconds: 0, replace: false };
    await expect(moderation.client.punish(wrong)).rejects.toEqual(
      faults('INVALID_REQUEST', 'kind', 'gameId', 'reason', 'durationSeconds'),
    );
    await expect(moderation.client.lift({ guildId: GUILD, kind: 'ban', gameId: 1, placeId: 5 })).rejects.toEqual(
      faults('INVALID_REQUEST', 'placeId'),
    );
  });

  test('cannot access the flagged list', async () => {
    const address = fixture.moderation.addresses.grpc ?? '';
    const { client, close } = connect(ShieldAdminServiceService, 'moderation', address, fixture.clock);
    await expect(client.listEntries({ guildId: '', limit: 1, afterGameId: 0 })).rejects.toMatchObject({
      code: 'INTERNAL',
    });
    close();
  });
});
