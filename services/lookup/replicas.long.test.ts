import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { withinBound } from '#test/measure/bounds.ts';
import { printFigure, round } from '#test/measure/figures.ts';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { untilListenersSeen } from '#test/postgres/listeners.ts';
import { cacheLink, LookupReplicas, untilReceiving } from './fixture.ts';

const replicas = new LookupReplicas();
beforeAll(() => replicas.start());
afterAll(() => replicas.stop());
beforeEach(() => replicas.useNewGuild());

/** Waits until the replica no longer finds the link; returns the milliseconds. */
async function untilGone(at: RunningService): Promise<number> {
  const started = performance.now();
  await expect.poll(() => replicas.statusesAt(at), { interval: 1 }).toEqual([404, 404]);
  return performance.now() - started;
}

test('a removal is visible in another process within 500 ms, and immediately in its own', async () => {
  const processes = await Promise.all([replicas.startProcess(), replicas.startProcess()]);
  const [remover, other] = processes.map(({ at }) => at) as [RunningService, RunningService];
  const delays: number[] = [];
  for (let count = 0; count < 20; count++) {
    replicas.useNewGuild();
    await replicas.linkAt(other);
    await cacheLink(replicas, remover, other);
    await replicas.unlinkAt(remover);
    expect(await replicas.statusesAt(remover)).toEqual([404, 404]);
    delays.push(await untilGone(other));
  }
  const sorted = delays.toSorted((a, b) => a - b);
  printFigure('a removed link is gone in another process, median of 20', `${round(sorted[10] ?? 0)} ms`);
  withinBound('a removed link is gone in another process, slowest of 20', sorted.at(-1) ?? 0, 500);
});

test('a replica that does not receive removals stops using its cache within two seconds', async () => {
  const remover = await replicas.startReplica();
  const proxy = await startTcpProxy(Number(new URL(replicas.database.url).port));
  const url = new URL(replicas.database.url);
  url.port = String(proxy.port);
  const isolated = await replicas.startReplica({ DATABASE_DIRECT_URL: url.href });
  await replicas.linkAt(remover);
  await cacheLink(replicas, isolated);
  proxy.freezeAll();
  const frozenAt = performance.now();
  await replicas.unlinkAt(remover);
  await untilGone(isolated);
  withinBound('a replica without notifications reads the database again', performance.now() - frozenAt, 2_500);
  await replicas.linkAt(remover);
  expect(await replicas.statusesAt(isolated)).toEqual([200, 200]);
  // After it receives removals again, it does not use what was cached before.
  await replicas.unlinkAt(remover);
  proxy.thaw();
  proxy.cut();
  await untilReceiving(isolated, 'database');
  expect(await replicas.statusesAt(isolated)).toEqual([404, 404]);
  await isolated.stop();
  await proxy.close();
});

test('a removal of a process that was killed before its announcement is visible in others within about a second', async () => {
  const [dying, other] = await Promise.all([replicas.startProcess(), replicas.startReplica()]);
  await replicas.linkAt(other);
  await untilListenersSeen(replicas.database.url, 'lookup');
  await cacheLink(replicas, other);
  // The state of the database if the process died between commit and announcement.
  await replicas.unlinkSilently();
  expect(await replicas.statusesAt(other)).toEqual([200, 200]);
  await dying.kill();
  withinBound('a removal of a killed process is visible in others', await untilGone(other), 1_500);
});
