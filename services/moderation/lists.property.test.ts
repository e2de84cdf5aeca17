import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { Lists } from './domain/lists.ts';
import type { Kind, Punishment } from './domain/punishment.ts';
import { newGuild } from './fixture.ts';
import * as store from './store/decisions.ts';

const KINDS = ['ban', 'mute'] as const;

const STEPS = 400;
const WRITERS = 5;
const PLAYERS = 12;
let testDatabase: TestDatabase;
let readers: Database;
let writers: Database[];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  readers = await openTestPool(testDatabase.url);
  writers = await Promise.all(Array.from({ length: WRITERS }, () => openTestPool(testDatabase.url)));
});
afterAll(async () => {
  await Promise.all([readers, ...writers].map((database) => database.close()));
  await testDatabase.drop();
});

const nobody = { moderatorGameId: null, moderatorChatId: null, sourceServerId: null };

/** A transaction that reads the time of its decision, and writes and commits the decision much later. */
class Writer {
  readonly #database: Database;
  #release: PromiseWithResolvers<boolean> | undefined;
  #ended: Promise<void> = Promise.resolve();
  gameId = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  get isOpen(): boolean {
    return this.#release !== undefined;
  }

  /** Resolves when the time of the decision was read; nothing is written or committed yet. */
  async begin(guildId: string, gameId: number, decide: (on: Queryable, now: Date) => Promise<unknown>): Promise<void> {
    const release = Promise.withResolvers<boolean>();
    const begun = Promise.withResolvers<void>();
    this.gameId = gameId;
    this.#release = release;
    const work = this.#database.transaction(async (transaction) => {
      const now = await store.lockUser(transaction, guildId, gameId);
      begun.resolve();
      const commits = await release.promise;
      await decide(transaction, now);
      if (!commits) throw new Error('rolled back');
    });
    this.#ended = work.catch((error: Error) => {
      begun.reject(error);
      if (error.message !== 'rolled back') throw error;
    });
    await begun.promise;
  }

  async end(commits: boolean): Promise<void> {
    this.#release?.resolve(commits);
    this.#release = undefined;
    await this.#ended;
  }
}

/**
 * A client like a game server: it stores the punishments of responses and requests the changes since. It uses no clock.
 */
class Client {
  readonly punishments = new Map<number, Punishment>();
  readonly #lists: Lists;
  readonly #guildId: string;
  readonly #kind: Kind;
  #since: number | undefined;

  constructor(lists: Lists, guildId: string, kind: Kind) {
    this.#lists = lists;
    this.#guildId = guildId;
    this.#kind = kind;
  }

  /** `between` runs after each page. */
  async poll(limit: number, between: () => Promise<void>): Promise<void> {
    const query = { guildId: this.#guildId, kind: this.#kind, placeId: undefined, limit };
    const since = this.#since;
    for (let position: string | undefined, isFirst = true; isFirst || position !== undefined; isFirst = false) {
      const pageQuery = { ...query, position };
      const page =
        since === undefined ? await this.#lists.active(pageQuery) : await this.#lists.changed(pageQuery, since);
      for (const punishment of page.punishments) this.punishments.set(punishment.id, punishment);
      for (const { id } of page.lifted ?? []) this.punishments.delete(id);
      this.#since = page.serverTime;
      position = page.next;
      if (position !== undefined) await between();
    }
  }

  get permanent(): number[] {
    const permanent = [...this.punishments].filter(([, { expiresAt }]) => expiresAt === null);
    return permanent.map(([id]) => id).toSorted((a, b) => a - b);
  }
}

/**
 * The test subtracts no margin from the server time and does not round it to seconds. Therefore a commit that is
 * delayed past one poll is as hard a case as any longer delay. The clocks of processes jump by up to an hour.
 */
test.each([1, 2, 3].flatMap((seed) => KINDS.map((kind) => [kind, seed] as const)))(
  'a client that polls for changes of %ss misses none, however late commits are and whatever clocks show (seed %i)',
  async (kind, seed) => {
    const random = seededRandom(seed);
    const guildId = newGuild();
    const lists = new Lists(readers, 0);
    const client = new Client(lists, guildId, kind);
    const all = writers.map((database) => new Writer(database));
    const realNow = Date.now.bind(Date);
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() + (random() - 0.5) * 7_200_000);

    const decide = (gameId: number) => async (on: Queryable, now: Date) => {
      const placeId = wholeNumber(random, 3) || null;
      const isCreated = random() < 0.6;
      const isLifted = !isCreated || random() < 0.3;
      const punishment = { kind, gameId, gameUsername: null, reason: 'R', placeId, durationSeconds: null, ...nobody };
      await store.endExpired(on, guildId, punishment, now);
      if (isLifted) await store.liftPunishments(on, guildId, punishment, now);
      if (isCreated) await store.insertPunishment(on, guildId, punishment, now);
    };
    const step = async () => {
      const writer = all[wholeNumber(random, all.length)] as Writer;
      // Most transactions stay open for a while, during which others commit and the client polls.
      if (writer.isOpen) return random() < 0.5 ? undefined : writer.end(random() < 0.85);
      const gameId = 1 + wholeNumber(random, PLAYERS);
      // A second transaction about the same player would wait for the first.
      if (all.some((other) => other.isOpen && other.gameId === gameId)) return;
      await writer.begin(guildId, gameId, decide(gameId));
    };

    let polls = 0;
    let pollsWithOpenWriters = 0;
    for (let count = 0; count < STEPS; count++) {
      await step();
      if (random() > 0.15) continue;
      await client.poll(1 + wholeNumber(random, 6), step);
      polls += 1;
      if (all.some(({ isOpen }) => isOpen)) pollsWithOpenWriters += 1;
    }
    for (const writer of all) await writer.end(true);
    await client.poll(3, async () => undefined);
    vi.restoreAllMocks();
    const rows = await readers.query<{ id: number }>(
      'SELECT id FROM moderation.punishments WHERE guild_id = $1 AND ended_at IS NULL ORDER BY id',
      [guildId],
    );
    expect([polls > 20, pollsWithOpenWriters > 15]).toEqual([true, true]);
    expect(rows.length).toBeGreaterThan(3);
    expect(client.permanent).toEqual(rows.map(({ id }) => id));
  },
);
