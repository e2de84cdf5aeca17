import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import type { RunningService } from '#kit/service/service.ts';
import { withinBound } from '#test/measure/bounds.ts';
import { printFigure, round } from '#test/measure/figures.ts';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { untilListenersSeen } from '#test/postgres/listeners.ts';
import { GUILD, ModerationFixture, newPlayer } from './fixture.ts';

/** The fixture's clock does not advance, so that cached statuses do not expire. */
const fixture = new ModerationFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

/** Waits until a replica receives notifications, so that it caches statuses. */
async function waitUntilListening(at: RunningService): Promise<void> {
  const metrics = async () => (await fetch(`http://${at.addresses.admin}/metrics`)).text();
  await expect.poll(metrics).toContain('listener_receiving{channel="moderation_changes"} 1');
}

/** Waits until the replica reports the player as banned or not banned; returns the milliseconds. */
async function until(at: RunningService, gameId: number, banned: boolean, with_: ModerationFixture): Promise<number> {
  const started = performance.now();
  await expect.poll(async () => (await with_.banStatus(gameId, '', { at })).banned, { interval: 1 }).toBe(banned);
  return performance.now() - started;
}

/** Inserts a ban directly into the database, so that no replica is notified. */
async function insertBan(gameId: number): Promise<void> {
  await fixture.query(
    `INSERT INTO moderation.punishments (guild_id, kind, game_id, place_id, reason, created_at, expires_at, updated_at)
     VALUES ($1, 'ban', $2, 0, 'Past us', now(), 'infinity', now())`,
    [GUILD, gameId],
  );
}

test('a decision is visible in another process within 500 ms, and immediately in its own', {
  timeout: 120_000,
}, async () => {
  const real = await new ModerationFixture(systemClock).start();
  const processes = await Promise.all([real.startProcess(), real.startProcess()]);
  try {
    const [taker, other] = processes.map(({ at }) => at) as [RunningService, RunningService];
    await Promise.all([waitUntilListening(taker), waitUntilListening(other)]);
    const delays: number[] = [];
    for (let count = 0; count < 20; count++) {
      const gameId = newPlayer();
      for (const at of [taker, other]) expect(await real.banStatus(gameId, '', { at })).toEqual({ banned: false });
      await real.decide('ban', { game_id: gameId }, { at: taker });
      delays.push(await until(other, gameId, true, real));
      expect((await real.banStatus(gameId, '', { at: taker })).banned).toBe(true);
      await real.decide('unban', { game_id: gameId }, { at: other });
      expect(await real.banStatus(gameId, '', { at: other })).toEqual({ banned: false });
      delays.push(await until(taker, gameId, false, real));
    }
    const sorted = delays.toSorted((a, b) => a - b);
    printFigure('a decision is visible in another process, median of 40', `${round(sorted[20] ?? 0)} ms`);
    withinBound('a decision is visible in another process, slowest of 40', sorted.at(-1) ?? 0, 500);
  } finally {
    for (const one of processes) await one.at.stop();
    await real.stop();
  }
});

test('a replica that does not receive its own notifications stops using its cache within two seconds', async () => {
  const proxy = await startTcpProxy(Number(new URL(fixture.database.url).port));
  const url = new URL(fixture.database.url);
  url.port = String(proxy.port);
  const isolated = await fixture.startReplica({ DATABASE_DIRECT_URL: url.href });
  await waitUntilListening(isolated);
  const [gameId, later] = [newPlayer(), newPlayer()];
  const banned = async (id: number) => (await fixture.banStatus(id, '', { at: isolated })).banned;
  expect([await banned(gameId), await banned(later)]).toEqual([false, false]);
  proxy.freezeAll();
  const frozenAt = performance.now();
  await fixture.decide('ban', { game_id: gameId });
  // The cached status does not expire, because the clock of this test stands still.
  await until(isolated, gameId, true, fixture);
  withinBound('a replica without notifications reads the database again', performance.now() - frozenAt, 2_500);
  await fixture.decide('ban', { game_id: later });
  expect(await banned(later)).toBe(true);
  await fixture.decide('unban', { game_id: later });
  expect(await banned(later)).toBe(false);
  // After it receives notifications again, it does not use statuses that were cached before.
  proxy.thaw();
  proxy.cut();
  await fixture.decide('unban', { game_id: gameId });
  await waitUntilListening(isolated);
  expect([await banned(gameId), await banned(later)]).toEqual([false, false]);
  await isolated.stop();
  await proxy.close();
});

test('a restart of the listening connection invalidates the whole cache', async () => {
  const other = await fixture.startReplica();
  await waitUntilListening(other);
  const gameId = newPlayer();
  expect(await fixture.banStatus(gameId, '', { at: other })).toEqual({ banned: false });
  // No replica is notified of this ban.
  await insertBan(gameId);
  expect(await fixture.banStatus(gameId, '', { at: other })).toEqual({ banned: false });
  await fixture.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'moderation listener'`,
  );
  await until(other, gameId, true, fixture);
  await other.stop();
});

test('a decision of a process that was killed before its notification is visible in others within about a second', async () => {
  const [dying, other] = await Promise.all([fixture.startProcess(), fixture.startReplica()]);
  await Promise.all([waitUntilListening(dying.at), waitUntilListening(other)]);
  await untilListenersSeen(fixture.database.url, 'moderation');
  const gameId = newPlayer();
  expect(await fixture.banStatus(gameId, '', { at: other })).toEqual({ banned: false });
  // The state of the database if the process died between commit and notification.
  await insertBan(gameId);
  expect(await fixture.banStatus(gameId, '', { at: other })).toEqual({ banned: false });
  await dying.kill();
  const delay = await until(other, gameId, true, fixture);
  withinBound('a decision of a killed process is visible in others', delay, 1_500);
  await other.stop();
});
