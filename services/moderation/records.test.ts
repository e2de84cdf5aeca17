import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GUILD, ModerationFixture, newGuild, newPlayer } from './fixture.ts';

const fixture = new ModerationFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

describe.each(['ban', 'mute'] as const)('the record of a %s', (kind) => {
  const lift = `un${kind}`;

  test('names the fields of the body that it does not know, up to 20 and not in full length', async () => {
    const body = { reason: 'Exploits', durration: '7d', guild_id: GUILD, replace: false, ['x'.repeat(100)]: 1 };
    const answer = await fixture.decide(kind, { game_id: newPlayer(), ...body });
    expect(answer.body.data).toMatchObject({ is_permanent: true, ignored_fields: ['durration', 'x'.repeat(64)] });
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field${index}`, null]));
    const flooded = await fixture.decide(kind, { game_id: newPlayer(), reason: 'Exploits', ...many });
    expect(flooded.body.data.ignored_fields).toHaveLength(20);
  });

  test('IDs count per guild, each once, also when decisions are made at the same time', async () => {
    const [guildId, players] = [newGuild(), Array.from({ length: 8 }, () => newPlayer())];
    const made = await Promise.all(players.map((gameId) => fixture.decide(kind, { game_id: gameId }, { guildId })));
    await Promise.all(players.map((gameId) => fixture.decide(lift, { game_id: gameId }, { guildId })));
    const { body } = await fixture.get(`/moderation/${guildId}/logs`, { guildId });
    const ids = [...made, ...body.data.logs.map((entry: { id: number }) => ({ body: { data: entry } }))].map(
      (answer) => answer.body.data.id as number,
    );
    expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 3 * players.length }, (_, index) => index + 1));
  });
});
