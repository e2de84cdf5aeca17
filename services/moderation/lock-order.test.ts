// Guarantee: transactions that touch the same rows lock them in one order. Players are banned and unbanned here and on the game
// platform while many players at once are queued and read, and no transaction is a victim of a deadlock.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount } from '#test/measure/bounds.ts';
import { whilePending } from '#test/while-pending.ts';
import { newGuild, newPlayer } from './fixture.ts';
import { MirrorFixture } from './fixtures/mirror.ts';
import { RESTRICTION_TASKS } from './store/mirror-tasks.ts';
import { markForReading } from './store/restriction-drift.ts';

const PLAYERS = 12;
const CHANGES = amount(20, 100);
const UNIVERSE = 31_000;

const fixture = new MirrorFixture();
beforeAll(async () => {
  await fixture.start();
});
afterAll(() => fixture.stop());

const guildId = newGuild();
const players = Array.from({ length: PLAYERS }, newPlayer);
const differences = players.map((gameId) => ({ gameId, placeId: null, isUnexpected: false }));

/** Bans and unbans a player, here and on the platform. */
async function change(gameId: number): Promise<void> {
  for (let count = 0; count < CHANGES; count++) {
    await fixture.ban(guildId, gameId, { reason: `Ban ${count}` });
    await fixture.restrict({ universe: UNIVERSE, user: gameId, active: count % 2 === 0 });
    await fixture.unban(guildId, gameId);
  }
}

/** Queues all players, as a comparison of all bans does that finds them to differ. */
const queueAll = () =>
  fixture.database.transaction(async (transaction) => {
    await RESTRICTION_TASKS.queue(transaction, guildId, players);
    await markForReading(transaction, { guildId, universeId: UNIVERSE }, differences, {});
  });

test('decisions, imports and comparisons of the same players cause no deadlock', async () => {
  await fixture.mirror({ guildId, universeIds: [UNIVERSE], excludeAlts: true });
  const changes = Promise.all(players.map(change));
  await Promise.all([changes, whilePending(changes, queueAll), whilePending(changes, () => fixture.runTasks())]);
  expect(await fixture.countDeadlocks()).toBe(0);
  await fixture.settle();
});
