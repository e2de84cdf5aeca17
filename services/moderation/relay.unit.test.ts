import { expect, test, vi } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { createLog } from '#kit/log.ts';
import { Metrics } from '#kit/metrics.ts';
import type { Queryable } from '#kit/postgres.ts';
import { ModerationEvents } from './events.ts';
import { Relay } from './relay.ts';

const log = await createLog({ service: 'test', level: 'silent' });

test.each([
  [1_500, 1],
  [1_501, 0],
])('an event that it took %i ms to lease is delivered %i times: a lease outlasts its delivery', async (ms, times) => {
  const clock = new ManualClock(Date.UTC(2026, 10, 21));
  let taken = 0;
  const answers = async (text: string): Promise<object[]> => {
    if (text.includes('RECURSIVE'))
      return taken === 0 ? [{ guildId: '1', logId: 1, isDue: true, createdAt: new Date(clock.now()) }] : [];
    if (!text.includes('taken')) return [];
    if (++taken > 1) return [];
    clock.advance(ms);
    return [{ guildId: '1', logId: 1, failures: 0, createdAt: new Date(clock.now()) }];
  };
  const database: Queryable = { query: async <Row>(text: string) => (await answers(text)) as Row[] };
  const deliver = vi.fn<() => Promise<void>>(async () => undefined);
  const relay = new Relay({ database, clock, deliver, events: new ModerationEvents(new Metrics(), log) });
  await relay.start();
  await expect.poll(() => taken).toBeGreaterThan(0);
  await relay.drain();
  expect(deliver).toHaveBeenCalledTimes(times);
});
