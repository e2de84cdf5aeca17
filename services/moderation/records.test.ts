import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GUILD, ModerationFixture, newGuild, newPlayer } from './fixture.ts';

const fixture = new ModerationFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

describe.each(['ban', 'mute'] as const)('the record of a %s', (kind) => {
  const lift = `un${kind}`;

  test('lists unknown fields of the body, at most 20 and shortened', async () => {
    const body = { reason: 'Exploits', durration: '7d', guild_id: GUILD, replace: false, ['x'.repeat(100)]: 1 };
    const response = await fixture.decide(kind, { game_id: newPlayer(), ...body });
    expect(response.body.data).toMatchObject({ is_permanent: true, ignored_fields: ['durration', 'x'.repeat(64)] });
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field${index}`, null]));
    const flooded = await fixture.decide(kind, { game_id: newPlayer(), reason: 'Exploits', ...many });
    expect(flooded.body.data.ignored_fields).toHaveLength(20);
  });

  test('IDs are numbered per guild without duplicates, also for concurrent decisions', async () => {
    const [guildId, players] = [newGuild(), Array.from({ length: 8 }, () => newPlayer())];
    const created = await Promise.all(players.map((gameId) => fixture.decide(kind, { game_id: gameId }, { guildId })));
    await Promise.all(players.map((gameId) => fixture.decide(lift, { game_id: gameId }, { guildId })));
    const { body } = await fixture.get(`/moderation/${guildId}/logs`, { guildId });
    const ids = [...created, ...body.data.logs.map((entry: { id: number }) => ({ body: { data: entry } }))].map(
      (response) => response.body.data.id as number,
    );
    expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 3 * players.length }, (_, index) => index + 1));
  });
});

test('new IDs are above all existing ones, also without the counter or after it was erased', async () => {
  const guildId = newGuild();
  await fixture.decide('ban', { game_id: 1 }, { guildId });
  await fixture.query(
    `INSERT INTO moderation.log (guild_id, id, action, punishment_id, game_id, place_id, created_at)
     VALUES ($1, 5000, 'ban', 1, 1, 0, now())`,
    [guildId],
  );
  const second = await fixture.decide('ban', { game_id: 2 }, { guildId });
  expect(second.body.data.id).toBe(5001);
  await fixture.query('DELETE FROM moderation.counters WHERE guild_id = $1', [guildId]);
  expect((await fixture.decide('ban', { game_id: 3 }, { guildId })).body.data.id).toBe(5003);
});
