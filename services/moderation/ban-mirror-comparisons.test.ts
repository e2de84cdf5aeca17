import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Queryable } from '#kit/postgres/pool.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { Reconciliation, type ReconciliationResult } from './domain/restrictions/reconciliation.ts';
import { UniverseChecks, type UniverseChecksOptions } from './domain/restrictions/universe-checks.ts';
import { newGuild } from './fixture.ts';
import { MirrorFixture } from './fixtures/mirror.ts';
import { claimUniverse, requestReconciliation, type UniverseCheck } from './store/mirrored-universes.ts';
import { listReconciliations } from './store/restriction-drift.ts';
import { MirrorTelemetry } from './telemetry.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const EQUAL: ReconciliationResult = { compared: 0, drifted: 0 };

const fixture = new MirrorFixture();
let lastUniverse = 60_000;

beforeAll(() => fixture.start());
beforeEach(() => fixture.rows('DELETE FROM moderation.mirrored_universes'));
afterAll(() => fixture.stop());

async function mirroringGuild(universes: number): Promise<string> {
  const guildId = newGuild();
  const universeIds = Array.from({ length: universes }, () => ++lastUniverse);
  await fixture.mirror({ guildId, universeIds, excludeAlts: false });
  return guildId;
}

/** A comparison that lasts until `end` is called. */
class HeldComparisons {
  readonly running = new Set<UniverseCheck>();
  readonly ended = new Set<number>();
  maxRunning = 0;
  #held = Promise.withResolvers<void>();

  async run(universe: UniverseCheck): Promise<ReconciliationResult> {
    this.running.add(universe);
    this.maxRunning = Math.max(this.maxRunning, this.running.size);
    await this.#held.promise;
    this.running.delete(universe);
    this.ended.add(universe.universeId);
    return EQUAL;
  }

  end(): void {
    this.#held.resolve();
    this.#held = Promise.withResolvers();
  }
}

/** Lets each process check `loops` universes at the same time. `done` counts the checks that have ended. */
function startLoops(processes: UniverseChecks[], loops: number) {
  const state = { done: 0, all: Promise.resolve<unknown>(undefined) };
  const checks = processes.flatMap((process) => Array.from({ length: loops }, () => process.checkNext()));
  state.all = Promise.all(checks.map((check) => check.then(() => state.done++)));
  return state;
}

/** Lets loops read universes again and again until four of them are compared. */
async function compareAll(processes: UniverseChecks[], loops: number, reconciliation: HeldComparisons): Promise<void> {
  while (reconciliation.ended.size < 4) {
    const started = startLoops(processes, loops);
    await expect.poll(() => started.done + reconciliation.running.size).toBe(processes.length * loops);
    reconciliation.end();
    await started.all;
    await fixture.advance(MINUTE);
  }
}

test('two of four loops compare universes, and the others read the logs of universes whose comparison is due', async () => {
  for (let guild = 0; guild < 4; guild++) await mirroringGuild(1);
  const reconciliation = new HeldComparisons();
  const checks = new UniverseChecks({ ...fixture.checkOptions, reconciliation });
  const loops = startLoops([checks], 4);
  await expect.poll(() => [loops.done, reconciliation.running.size]).toEqual([2, 2]);
  const read = await fixture.rows('SELECT FROM moderation.mirrored_universes WHERE log_read_to IS NOT NULL');
  expect(read).toHaveLength(2);
  reconciliation.end();
  await loops.all;
  await compareAll([checks], 4, reconciliation);
  expect(reconciliation.ended.size).toBe(4);
  expect(reconciliation.maxRunning).toBe(2);
});

test('of a guild one universe is compared at a time, also by several processes, and each in its turn', async () => {
  await mirroringGuild(4);
  const reconciliation = new HeldComparisons();
  const processes = Array.from({ length: 4 }, () => new UniverseChecks({ ...fixture.checkOptions, reconciliation }));
  await compareAll(processes, 2, reconciliation);
  expect(reconciliation.ended.size).toBe(4);
  expect(reconciliation.maxRunning).toBe(1);
});

test('of two concurrent claims for one guild that do not see each other only one compares', async () => {
  const guildId = await mirroringGuild(2);
  const second = lastUniverse;
  const moveSecond = (time: string) =>
    fixture.rows('UPDATE moderation.mirrored_universes SET run_at = $1 WHERE universe_id = $2', [time, second]);
  await moveSecond('2100-01-01');
  const [begun, commit] = [Promise.withResolvers<Queryable>(), Promise.withResolvers<void>()];
  const committed = fixture.database.transaction(async (transaction) => {
    begun.resolve(transaction);
    await commit.promise;
  });
  const transaction = await begun.promise;
  let statements = 0;
  let other: UniverseCheck | undefined;
  // The first claim has updated its row, and is committed only after the other claim.
  const on: Queryable = {
    query: async (text, values) => {
      if (++statements < 3) return transaction.query(text, values);
      await moveSecond('2000-01-01');
      other = await claimUniverse(fixture.database, MINUTE, true);
      commit.resolve();
      await committed;
      return fixture.database.query(text, values);
    },
  };
  const one = await claimUniverse(on, MINUTE, true);
  commit.resolve();
  expect(one).toMatchObject({ guildId, universeId: second - 1, isReconciling: false });
  expect(other).toMatchObject({ guildId, universeId: second, isReconciling: true });
});

/** A log of changes that cannot be read to its end. */
const ENDLESS_LOG: UniverseChecksOptions['restrictions'] = { logs: async () => ({ items: [], next: 'more' }) };

/** Comparisons that find too many restrictions while `maxPages` is 0, and how many have begun. */
function countedComparisons() {
  const state = { runs: 0, maxPages: 0 };
  const reconciliation: Pick<Reconciliation, 'run'> = {
    run: (universe, signal) => {
      state.runs++;
      return new Reconciliation({ ...fixture.reconciliationOptions, maxPages: state.maxPages }).run(universe, signal);
    },
  };
  return { state, reconciliation };
}

test('a universe with too many restrictions is compared again in the next night, with an error, and its log is read meanwhile', async () => {
  const guildId = await mirroringGuild(1);
  const { state: comparisons, reconciliation } = countedComparisons();
  const lines: string[] = [];
  const log = await createLog({
    service: 'test',
    level: 'info',
    destination: { write: (line) => void lines.push(line) },
  });
  const telemetry = new MirrorTelemetry(new Metrics(), log);
  const checks = new UniverseChecks({ ...fixture.checkOptions, reconciliation, telemetry });
  const state = async () => (await listReconciliations(fixture.database, guildId))[0];
  await checks.checkNext();
  const failed = await state();
  expect(failed).toMatchObject({ reconciledAt: null, lastError: 'the universe has more than 0 pages of restrictions' });
  expect((failed?.nextAt.getTime() ?? 0) - fixture.clock.now()).toBeGreaterThan(2 * HOUR);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('comparison of all bans postponed to the next night: too many restrictions');
  await fixture.advance(MINUTE);
  expect(await checks.checkNext()).toBe(true);
  expect(comparisons.runs).toBe(1);
  expect(await state()).toEqual(failed);
  await fixture.advance(30 * HOUR);
  await checks.checkNext();
  expect(comparisons.runs).toBe(2);
  await requestReconciliation(fixture.database, guildId);
  expect(await state()).toMatchObject({ lastError: null });
  await fixture.checks.checkNext();
  expect(await state()).toMatchObject({ lastError: null, compared: 0 });
});

test('a log that cannot be read to its end makes a comparison due, but not one that was given up until the next night', async () => {
  await mirroringGuild(1);
  const { state, reconciliation } = countedComparisons();
  const checks = new UniverseChecks({ ...fixture.checkOptions, reconciliation, restrictions: ENDLESS_LOG });
  const checkAfter = async (milliseconds: number) => {
    await fixture.advance(milliseconds);
    expect(await checks.checkNext()).toBe(true);
  };
  await fixture.rows(`UPDATE moderation.mirrored_universes SET log_read_to = '2000-01-01'`);
  await checkAfter(0);
  for (let polls = 0; polls < 3; polls++) await checkAfter(MINUTE);
  expect(state.runs).toBe(1);
  state.maxPages = 5;
  await checkAfter(30 * HOUR);
  expect(state.runs).toBe(2);
  await checkAfter(MINUTE);
  await checkAfter(MINUTE);
  expect(state.runs).toBe(3);
});
