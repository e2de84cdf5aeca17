import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { ShieldAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { connect, TEST_OPERATOR } from '#test/network/grpc.ts';
import { recordedEvents } from '#test/postgres/recorded-events.ts';
import { TEST_SOURCE } from '#test/system/signed-calls.ts';
import { ADMIN_SECRET, ModerationFixture, newGuild } from './fixture.ts';

const fixture = new ModerationFixture();
let admin: ReturnType<typeof connect<typeof ShieldAdminServiceService>>;
beforeAll(async () => {
  await fixture.start();
  const address = fixture.moderation.addresses.grpc ?? '';
  admin = connect(ShieldAdminServiceService, 'moderation', address, fixture.clock, [ADMIN_SECRET]);
});
afterAll(async () => {
  admin.close();
  await fixture.stop();
});

const MODERATOR = { moderator_game_id: 7002, moderator_chat_id: '920000000000000001' };
const now = () => unixSeconds(fixture.clock.now());
const events = (guildId: string) => recordedEvents(fixture.database.url, 'moderation', guildId);
const typesOf = async (guildId: string) => (await events(guildId)).map(({ type, data }) => `${type} ${data.id}`);

describe.each([
  ['ban', 'unban'],
  ['mute', 'unmute'],
])('a %s', (kind, lift) => {
  test('is an event with the record of the response, by the key of the request', async () => {
    const guildId = newGuild();
    const body = { game_id: 7001, duration: '1h', game_username: 'AdaBuilds', unknown_field: 1, ...MODERATOR };
    const { ignored_fields, ...created } = (await fixture.decide(kind, body, { guildId })).body.data;
    expect(ignored_fields).toEqual(['unknown_field']);
    expect(await events(guildId)).toEqual([
      {
        number: 1,
        type: `${kind}.created`,
        source: TEST_SOURCE,
        persons: ['chat:920000000000000001', 'game:7001', 'game:7002'],
        data: created,
      },
    ]);
  });

  test('that is lifted in several places is an event for each, with the time', async () => {
    const guildId = newGuild();
    await fixture.decide(kind, { game_id: 7001 }, { guildId });
    await fixture.decide(kind, { game_id: 7001, scope: 'place', place_id: 5 }, { guildId });
    const { lifted_count } = (await fixture.decide(lift, { game_id: 7001, reason: 'x' }, { guildId })).body.data;
    expect(lifted_count).toBe(2);
    const [first, second, ...lifted] = await events(guildId);
    expect(lifted.map(({ type }) => type)).toEqual([`${kind}.lifted`, `${kind}.lifted`]);
    expect(lifted.map(({ data }) => data)).toEqual(
      expect.arrayContaining([
        { ...first?.data, lifted_at: now() },
        { ...second?.data, lifted_at: now() },
      ]),
    );
  });

  test('that replaces another lifts it first: two events', async () => {
    const guildId = newGuild();
    await fixture.decide(kind, { game_id: 7001 }, { guildId });
    await fixture.decide(kind, { game_id: 7001, replace: true }, { guildId });
    const [old, lifted, created] = await events(guildId);
    expect([lifted?.type, lifted?.data.id]).toEqual([`${kind}.lifted`, old?.data.id]);
    expect([created?.type, created?.data.id]).toEqual([`${kind}.created`, (old?.data.id ?? 0) + 3]);
  });

  test('that is rejected or repeated is no event', async () => {
    const guildId = newGuild();
    const first = { guildId, key: 'first' };
    for (let time = 0; time < 2; time++) {
      expect((await fixture.decide(kind, { game_id: 7001 }, first)).status).toBe(201);
      expect((await fixture.decide(kind, { game_id: 7001 }, { guildId, key: 'rejected' })).status).toBe(409);
      expect((await fixture.decide(lift, { game_id: 7002 }, { guildId })).status).toBe(404);
    }
    expect(await typesOf(guildId)).toEqual([`${kind}.created 1`]);
  });
});

test('a decision and its event are committed together: without the event there is no decision', async () => {
  const guildId = newGuild();
  await fixture.query(`ALTER TABLE moderation.events ADD CONSTRAINT fails CHECK (guild_id <> '${guildId}')`);
  expect((await fixture.decide('ban', { game_id: 7001 }, { guildId })).status).toBe(500);
  expect((await fixture.banStatus(7001, '?no_cache=true', { guildId })).banned).toBe(false);
  await fixture.query('ALTER TABLE moderation.events DROP CONSTRAINT fails');
  expect((await fixture.decide('ban', { game_id: 7001 }, { guildId })).status).toBe(201);
  expect(await typesOf(guildId)).toHaveLength(1);
});

test('16 concurrent writers of a guild leave one event for each decision, and numbers without gaps', async () => {
  const guildId = newGuild();
  const decisions = Array.from({ length: 160 }, (_, n) => fixture.decide('ban', { game_id: n % 40 }, { guildId }));
  const created = (await Promise.all(decisions)).filter(({ status }) => status === 201);
  expect((await typesOf(guildId)).toSorted()).toEqual(
    created.map(({ body }) => `ban.created ${body.data.id}`).toSorted(),
  );
});

describe('a flag', () => {
  const entry = { gameId: 7001, reason: 'Sells items', category: 'scammer', actor: TEST_OPERATOR };

  test('in the own list of a guild is an event when it is added, replaced and removed, by the operator', async () => {
    const guildId = newGuild();
    await admin.client.addEntry({ guildId, ...entry });
    await admin.client.addEntry({ guildId, ...entry, category: 'exploiter' });
    await admin.client.removeEntry({ guildId, gameId: 7001, actor: TEST_OPERATOR });
    const data = {
      game_id: 7001,
      game_username: null,
      reason: 'Sells items',
      source: 'operator',
      flagged_at: now(),
    };
    const common = { source: { kind: 'operator', id: TEST_OPERATOR }, persons: ['game:7001'] };
    expect(await events(guildId)).toEqual([
      { ...common, number: 1, type: 'shield.added', data: { ...data, category: 'scammer' } },
      { ...common, number: 2, type: 'shield.added', data: { ...data, category: 'exploiter' } },
      { ...common, number: 3, type: 'shield.removed', data: { ...data, category: 'exploiter' } },
    ]);
  });

  test('for all guilds, and one that is rejected, are no events', async () => {
    await admin.client.addEntry({ guildId: '', ...entry });
    await admin.client.removeEntry({ guildId: '', gameId: 7001, actor: TEST_OPERATOR });
    const guildId = newGuild();
    await expect(admin.client.removeEntry({ guildId, gameId: 7001, actor: TEST_OPERATOR })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    expect([await events('0'), await events(guildId)]).toEqual([[], []]);
  });
});
