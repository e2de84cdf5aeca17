import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GUILD, ModerationFixture, newPlayer } from './fixture.ts';

const fixture = new ModerationFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const faultsOf = (response: { body: { details: { errors: { path: string }[] } } }) =>
  response.body.details.errors.map(({ path }) => path);

/** The log entries of a player, the oldest first. */
async function logOf(gameId: number) {
  const response = await fixture.get(`/moderation/${GUILD}/logs?game_id=${gameId}`);
  return (response.body.data.logs as Record<string, unknown>[]).toReversed();
}

describe('a reason', () => {
  test.each([
    'Plain',
    'Grüße, ångström, ñandú',
    'Читы и оскорбления',
    '作弊和骚扰',
    'チート行為のため',
    '부정행위',
    'الغش في اللعبة',
    'רמאות במשחק',
    'खेल में धोखाधड़ी',
    'การโกงเกม',
    '👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿 ☠️',
    'e\u0301 stays two characters, é one',
    'Lines\nand\ttabs',
    '"quotes" \\ \' $1 {} <b> %s \u2028 \ufeff.',
    'x'.repeat(400),
    '𝕏'.repeat(400),
  ])('in any script is returned as it was sent: %#', async (reason) => {
    const gameId = newPlayer();
    const { status, body } = await fixture.decide('ban', { game_id: gameId, reason });
    expect([status, body.data.reason]).toEqual([201, reason]);
    expect((await fixture.banStatus(gameId)).ban_info.reason).toBe(reason);
    await fixture.decide('unban', { game_id: gameId, reason });
    expect((await logOf(gameId)).map((entry) => entry['reason'])).toEqual([reason, reason]);
  });

  test('is stored without surrounding white space, which does not count for its length', async () => {
    const { body } = await fixture.decide('ban', { game_id: newPlayer(), reason: ` \n\t${'x'.repeat(400)}\u00a0 ` });
    expect(body.data.reason).toBe('x'.repeat(400));
  });

  test.each([
    '',
    ' ',
    '\n\t\u3000\u00a0',
    'x'.repeat(401),
    '𝕏'.repeat(401),
    '\u200b \u2060',
    'a\u0000b',
    'a\rb',
    '\u001b[31m',
    '\u007f',
    '\u0085',
    '\ud800',
    5,
  ])('that is empty or blank, too long or contains control characters is a 400: %#', async (reason) => {
    for (const action of ['ban', 'mute', 'unban', 'unmute']) {
      const response = await fixture.decide(action, { game_id: newPlayer(), reason });
      expect([response.status, faultsOf(response)]).toEqual([400, ['body.reason']]);
    }
  });
});

describe('with an Idempotency-Key', () => {
  const replayed = (response: { headers: Headers }) => response.headers.get('idempotency-replayed');

  test('a repeat gets the first response, and no decision is made twice', async () => {
    const gameId = newPlayer();
    const first = await fixture.decide('ban', { game_id: gameId }, { key: 'one' });
    await fixture.decide('unban', { game_id: gameId });
    const repeat = await fixture.decide('ban', { game_id: gameId }, { key: 'one' });
    expect([repeat.status, repeat.body, replayed(repeat)]).toEqual([201, first.body, 'true']);
    expect(await logOf(gameId)).toHaveLength(2);
    expect(await fixture.banStatus(gameId)).toEqual({ banned: false });
  });

  test('404 and 409 are replayed, 400 is not, and another body is a 409', async () => {
    const gameId = newPlayer();
    const notFound = await fixture.decide('unmute', { game_id: gameId }, { key: 'two' });
    await fixture.decide('mute', { game_id: gameId });
    const conflict = await fixture.decide('mute', { game_id: gameId }, { key: 'three' });
    expect([notFound.status, conflict.status]).toEqual([404, 409]);
    expect(replayed(await fixture.decide('unmute', { game_id: gameId }, { key: 'two' }))).toBe('true');
    expect(replayed(await fixture.decide('mute', { game_id: gameId }, { key: 'three' }))).toBe('true');
    expect((await fixture.decide('mute', { game_id: 'x' }, { key: 'four' })).status).toBe(400);
    expect((await fixture.decide('mute', { game_id: newPlayer() }, { key: 'four' })).status).toBe(201);
    const another = await fixture.decide('mute', { game_id: newPlayer() }, { key: 'four' });
    expect(another).toMatchObject({ status: 409, body: { details: { code: 'CONFLICT' } } });
  });
});
