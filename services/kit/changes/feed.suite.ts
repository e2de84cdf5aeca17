import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure, round } from '#test/measure/figures.ts';
import { CachingReplica } from './fixtures/caching-replica.ts';
import type { FeedFault, FeedsUnderTest } from './fixtures/under-test.ts';

/** The longest time for which a cached value may be used after a newer one was committed, in milliseconds. */
const STALE_MS = 2_500;
const GUILDS = Array.from({ length: 20 }, (_, index) => `90000000000000000${index}`);
const FAULT_MS = amount(4_000, 12_000);

/** Tests the guarantees of a change feed, which hold for every implementation, while its `faults` happen. */
export function feedSuite(name: string, faults: readonly string[], start: () => Promise<FeedsUnderTest>): void {
  describe(`changes ${name}`, () => {
    let feeds: FeedsUnderTest;
    const replicas: CachingReplica[] = [];
    /** The newest value of each guild, and when it was committed. */
    const committed = new Map<string, { value: number; at: number }>();
    const open = async (isCutOff = false) => {
      const replica = await CachingReplica.open(committed, (handlers) => feeds.open(handlers, isCutOff));
      replicas.push(replica);
      return replica;
    };
    const receiving = async (...some: CachingReplica[]) => {
      for (const { feed } of some) await expect.poll(() => feed.isReceiving, { timeout: 30_000 }).toBe(true);
    };

    beforeAll(async () => {
      feeds = await start();
    });
    afterEach(async () => {
      await Promise.all(replicas.splice(0).map((replica) => replica.stop()));
    });
    afterAll(() => feeds?.stop());

    test('a change arrives at every process, within half a second', async () => {
      const [first, second] = [await open(), await open()];
      await receiving(first, second);
      const delays: number[] = [];
      for (const guild of GUILDS) {
        expect([first.read(guild), second.read(guild)]).toEqual([0, 0]);
        first.change(guild);
        const changedAt = performance.now();
        await expect.poll(() => second.received.has(guild), { interval: 1 }).toBe(true);
        delays.push(performance.now() - changedAt);
        expect(second.read(guild)).toBe(1);
      }
      printFigure(`changes ${name}, median`, `${round(delays.toSorted((a, b) => a - b)[10] ?? 0)} ms`);
      withinBound(`changes ${name}, slowest of ${GUILDS.length}`, Math.max(...delays), 500);
    });

    test('of many changes at once none is lost', async () => {
      const [first, second] = [await open(), await open()];
      await receiving(first, second);
      const names = Array.from({ length: 2_000 }, (_, index) => String(10n ** 17n + BigInt(index)));
      for (const guild of names) first.feed.announce(guild);
      await expect.poll(() => names.filter((guild) => !second.received.has(guild))).toEqual([]);
    });

    test('a change of a process that is killed before it announces it is seen within about a second', async () => {
      const [dying, other] = [await open(), await open()];
      await receiving(dying, other);
      // Both have seen each other.
      await pause(2_500);
      const [guild = ''] = GUILDS;
      const before = other.read(guild);
      dying.commit(guild);
      expect(other.read(guild)).toBe(before);
      await dying.kill();
      const killedAt = performance.now();
      await expect.poll(() => other.read(guild), { interval: 5 }).toBe((before ?? 0) + 1);
      withinBound(`changes ${name}: the last one of a killed process`, performance.now() - killedAt, 1_500);
    });

    test.each(faults)(
      '%s: no process uses an old value for long, and afterwards all use their caches',
      async (fault) => {
        await feeds.renew?.();
        const { begin, end } = feeds.faults.find((one) => one.name === fault) as FeedFault;
        const [first, second, cutOff] = [await open(), await open(), await open(true)];
        const all = [first, second, cutOff];
        await receiving(...all);
        const traffic = setInterval(() => {
          const guild = GUILDS[Math.floor(Math.random() * GUILDS.length)] ?? '';
          all[Math.floor(Math.random() * all.length)]?.change(guild);
        }, 20);
        const reads = setInterval(() => {
          for (const replica of all) for (const guild of GUILDS) replica.read(guild);
        }, 5);
        try {
          await pause(500);
          await begin();
          await pause(FAULT_MS);
          await end();
          await receiving(...all);
          await pause(500);
        } finally {
          clearInterval(traffic);
          clearInterval(reads);
        }
        const stale = Math.max(...all.map((replica) => replica.maxStaleMs));
        withinBound(`changes ${name}, ${fault}: the oldest value that was used`, stale, STALE_MS);
        for (const replica of all) await expect.poll(() => replica.reads.cached).toBeGreaterThan(0);
        // After the fault changes are cached and arrive at once again.
        const [guild = ''] = GUILDS;
        const value = committed.get(guild)?.value ?? 0;
        cutOff.change(guild);
        await expect
          .poll(() => [first.read(guild), second.read(guild)], { interval: 5 })
          .toEqual([value + 1, value + 1]);
      },
    );
  });
}
