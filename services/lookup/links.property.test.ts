import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EventRecorder } from '#kit/events/recorder.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { Links } from './domain/links.ts';
import { LookupEvents } from './events.ts';
import * as store from './store/links.ts';
import { LookupTelemetry } from './telemetry.ts';

const STEPS = 400;
const WRITERS = 5;
const ACCOUNTS = 12;

let testDatabase: TestDatabase;
let readers: Database;
let writers: Database[];
let telemetry: LookupTelemetry;
const events = new LookupEvents(new EventRecorder({ schema: 'lookup', wake: () => undefined }));

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  readers = await openTestPool(testDatabase.url);
  writers = await Promise.all(Array.from({ length: WRITERS }, () => openTestPool(testDatabase.url)));
  telemetry = new LookupTelemetry(new Metrics(), await createLog({ service: 'test', level: 'silent' }));
});
afterAll(async () => {
  await Promise.all([readers, ...writers].map((database) => database.close()));
  await testDatabase.drop();
});

const chat = (number: number) => String(920_000_000_000_000_000n + BigInt(number));

/** A transaction that has changed a link and whose commit is delayed. */
class Writer {
  readonly #database: Database;
  #release: PromiseWithResolvers<boolean> | undefined;
  #ended: Promise<void> = Promise.resolve();
  account = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  get isOpen(): boolean {
    return this.#release !== undefined;
  }

  async begin(account: number, change: (on: Queryable) => Promise<unknown>): Promise<void> {
    const release = Promise.withResolvers<boolean>();
    const changed = Promise.withResolvers<void>();
    this.account = account;
    this.#release = release;
    const work = this.#database.transaction(async (transaction) => {
      await change(transaction);
      changed.resolve();
      if (!(await release.promise)) throw new Error('rolled back');
    });
    this.#ended = work.catch((error: Error) => {
      changed.reject(error);
      if (error.message !== 'rolled back') throw error;
    });
    await changed.promise;
  }

  async end(commits: boolean): Promise<void> {
    this.#release?.resolve(commits);
    this.#release = undefined;
    await this.#ended;
  }
}

/** A caller that stores the links and requests changes since the last response, without a clock of its own. */
class Caller {
  readonly pairs = new Set<string>();
  readonly #links: Links;
  readonly #guildId: string;
  #since: number | undefined;

  constructor(links: Links, guildId: string) {
    this.#links = links;
    this.#guildId = guildId;
  }

  async poll(limit: number, between: () => Promise<void>): Promise<void> {
    // Fractions of a second, although the contract has whole seconds, because rounding would hide missed changes.
    const updatedSince = (this.#since ?? 0) / 1000;
    const request = { updatedSince, withUnlinked: this.#since !== undefined, limit };
    for (let position = '', more = true; more; more = position !== '') {
      const page = await this.#links.list(this.#guildId, { ...request, position });
      for (const { chatId, gameId } of page.links) this.pairs.add(`${chatId} ${gameId}`);
      for (const { chatId, gameId } of page.unlinked) this.pairs.delete(`${chatId} ${gameId}`);
      this.#since = page.serverTime;
      position = page.next ?? '';
      if (position !== '') await between();
    }
  }
}

/**
 * The test uses no safety margin and no rounding of server_time to seconds, so a commit that is delayed beyond one poll
 * is as difficult as one that is delayed for longer. The clocks of the processes jump by up to an hour.
 */
test.each([1, 2, 3])(
  'a caller that requests changed links misses none, despite late commits and wrong clocks (seed %i)',
  async (seed) => {
    const random = seededRandom(seed);
    const guildId = String(910_000_000_000_000_000n + BigInt(seed));
    const caller = new Caller(
      new Links({ database: readers, telemetry, events, removed: () => undefined, marginMs: 0 }),
      guildId,
    );
    const all = writers.map((database) => new Writer(database));
    const realNow = Date.now.bind(Date);
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() + (random() - 0.5) * 7_200_000);

    const change = (account: number) => async (on: Queryable) => {
      if (random() < 0.5) await store.deleteLink(on, guildId, randomUUID(), { chatId: chat(account) });
      if (random() < 0.3) return;
      // Each account has one of two players, so that links are created and removed often.
      const gameId = account * 10 + wholeNumber(random, 2);
      await store.insertLink(on, guildId, randomUUID(), { chatId: chat(account), gameId, gameUsername: 'User' });
    };
    const step = async () => {
      const writer = all[wholeNumber(random, all.length)] as Writer;
      if (writer.isOpen) return random() < 0.5 ? undefined : writer.end(random() < 0.85);
      const account = 1 + wholeNumber(random, ACCOUNTS);
      // A second transaction about the same account would wait for the first one.
      if (all.some((other) => other.isOpen && other.account === account)) return;
      await writer.begin(account, change(account));
    };

    let delayedPolls = 0;
    for (let count = 0; count < STEPS; count++) {
      await step();
      if (random() > 0.15) continue;
      await caller.poll(1 + wholeNumber(random, 6), step);
      if (all.some(({ isOpen }) => isOpen)) delayedPolls += 1;
    }
    for (const writer of all) await writer.end(true);
    await caller.poll(3, async () => undefined);
    vi.restoreAllMocks();
    const rows = await readers.query<{ pair: string }>(
      `SELECT chat_id || ' ' || game_id AS pair FROM lookup.links WHERE guild_id = $1`,
      [guildId],
    );
    expect(delayedPolls).toBeGreaterThan(15);
    expect(rows.length).toBeGreaterThan(3);
    expect([...caller.pairs].toSorted()).toEqual(rows.map(({ pair }) => pair).toSorted());
  },
);
