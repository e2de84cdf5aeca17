import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const TIMES = amount(20, 300);

const fixture = new ActivityFixture();
let other: RunningService;
beforeAll(async () => {
  await fixture.start();
  other = await fixture.startActivity();
});
afterAll(async () => {
  await other.stop();
  await fixture.stop();
});

test('a command that one replica receives wakes a waiting poll in another replica within 200 ms', async () => {
  await expect.poll(() => fixture.metric('listener_receiving', '{channel="activity_commands"}', other)).toBe(1);
  const guildId = newGuild();
  const delays: number[] = [];
  for (let count = 0; count < TIMES; count++) {
    const woken = fixture.poll('a', '?wait=25', { guildId, at: other });
    await expect.poll(() => fixture.metric('activity_open_polls', '', other)).toBe(1);
    await fixture.send('a', { guildId });
    const enqueuedAt = performance.now();
    expect((await woken).body.data.commands).toHaveLength(1);
    delays.push(performance.now() - enqueuedAt);
  }
  delays.sort((a, b) => a - b);
  printFigure(`woken through another replica, median of ${TIMES}, in ms`, delays[TIMES / 2] ?? 0);
  withinBound(`woken through another replica, slowest of ${TIMES}`, delays.at(-1) ?? 0, 200);
});
