import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, type TestContext, test } from 'vitest';
import { amount, WAITING_TOGETHER, withinBound } from '#test/measure/bounds.ts';
import { printFigure, round } from '#test/measure/figures.ts';
import { soon } from '#test/soon.ts';
import { CachingReplica } from './fixtures/caching-replica.ts';
import type { FeedFault, FeedsUnderTest } from './fixtures/under-test.ts';

/** The longest time for which a cached value may be used after a newer one was committed, in milliseconds. */
const STALE_MS = 2_500;
const GUILDS = Array.from({ length: 20 }, (_, index) => `90000000000000000${index}`);
const FAULT_MS = amount(4_000, 12_000);

/** The servers and processes of one test, which are stopped when it ends. Tests share nothing, so that their faults may happen at the same time. */
class Stage {
  readonly #feeds: FeedsUnderTest;
  readonly #replicas: CachingReplica[] = [];
  /** The newest value of each guild, and when it was committed. */
  readonly committed = new Map<string, { value: number; at: number }>();

  private constructor(feeds: FeedsUnderTest, { onTestFinished }: TestContext) {
    this.#feeds = feeds;
    onTestFinished(async () => {
      await Promise.all(this.#replicas.map((replica) => replica.stop()));
      await feeds.stop();
    });
  }

  static async start(start: () => Promise<FeedsUnderTest>, context: TestContext): Promise<Stage> {
    return new Stage(await start(), context);
  }

  /** Starts processes, and waits until all of them receive changes. `isCutOff`: the faults concern the process. */
  async open(...processes: { isCutOff?: boolean }[]): Promise<CachingReplica[]> {
    const opened = await Promise.all(
      processes.map(({ isCutOff = false }) =>
        CachingReplica.open(this.committed, (handlers) => this.#feeds.open(handlers, isCutOff)),
      ),
    );
    this.#replicas.push(...opened);
    await receiving(opened);
    return opened;
  }

  fault(name: string): FeedFault {
    return this.#feeds.faults.find((one) => one.name === name) as FeedFault;
  }
}

/** Milliseconds between two reads, where the time until a change arrives is measured. */
const LOOK_EVERY_MS = 5;

const receiving = (replicas: readonly CachingReplica[]) =>
  soon(() => expect(replicas.map(({ feed }) => feed.isReceiving)).toEqual(replicas.map(() => true)));

/** Tests the guarantees of a change feed, which hold for every implementation, while its `faults` happen. */
export function feedSuite(name: string, faults: readonly string[], start: () => Promise<FeedsUnderTest>): void {
  describe(`changes ${name}`, WAITING_TOGETHER, () => {
    test('a change arrives at every process, within half a second', async (context) => {
      const stage = await Stage.start(start, context);
      const [first, second] = (await stage.open({}, {})) as [CachingReplica, CachingReplica];
      const delays: number[] = [];
      for (const guild of GUILDS) {
        expect([first.read(guild), second.read(guild)]).toEqual([0, 0]);
        first.change(guild);
        const changedAt = performance.now();
        await soon(() => expect(second.received.has(guild)).toBe(true), 1);
        delays.push(performance.now() - changedAt);
        expect(second.read(guild)).toBe(1);
      }
      printFigure(`changes ${name}, median`, `${round(delays.toSorted((a, b) => a - b)[10] ?? 0)} ms`);
      withinBound(`changes ${name}, slowest of ${GUILDS.length}`, Math.max(...delays), 500);
    });

    test('of many changes at once none is lost', async (context) => {
      const stage = await Stage.start(start, context);
      const [first, second] = (await stage.open({}, {})) as [CachingReplica, CachingReplica];
      const names = Array.from({ length: 2_000 }, (_, index) => String(10n ** 17n + BigInt(index)));
      for (const guild of names) first.feed.announce(guild);
      await soon(() => expect(names.filter((guild) => !second.received.has(guild))).toEqual([]));
    });

    test('a change of a process that is killed before it announces it is seen within about a second', async (context) => {
      const stage = await Stage.start(start, context);
      const [dying, other] = (await stage.open({}, {})) as [CachingReplica, CachingReplica];
      // Both have seen each other.
      await pause(2_500);
      const [guild = ''] = GUILDS;
      const before = other.read(guild);
      dying.commit(guild);
      expect(other.read(guild)).toBe(before);
      await dying.kill();
      const killedAt = performance.now();
      await soon(() => expect(other.read(guild)).toBe((before ?? 0) + 1), LOOK_EVERY_MS);
      withinBound(`changes ${name}: the last one of a killed process`, performance.now() - killedAt, 1_500);
    });

    test.for(faults)(
      '%s: no process uses an old value for long, and afterwards all use their caches',
      async (fault, context) => {
        const stage = await Stage.start(start, context);
        const { begin, end } = stage.fault(fault);
        const all = await stage.open({}, {}, { isCutOff: true });
        const [first, second, cutOff] = all as [CachingReplica, CachingReplica, CachingReplica];
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
          await receiving(all);
          await pause(500);
        } finally {
          clearInterval(traffic);
          clearInterval(reads);
        }
        const stale = Math.max(...all.map((replica) => replica.maxStaleMs));
        withinBound(`changes ${name}, ${fault}: the oldest value that was used`, stale, STALE_MS);
        for (const replica of all) expect(replica.reads.cached).toBeGreaterThan(0);
        // After the fault changes are cached and arrive at once again.
        const [guild = ''] = GUILDS;
        const value = stage.committed.get(guild)?.value ?? 0;
        cutOff.change(guild);
        await soon(
          () => expect([first.read(guild), second.read(guild)]).toEqual([value + 1, value + 1]),
          LOOK_EVERY_MS,
        );
      },
    );
  });
}
