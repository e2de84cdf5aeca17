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

/** A transaction that has the time of its decision, and writes and commits it much later. */
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

  /** Resolves when the decision has its time; nothing is written or committed yet. */
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

/** What a game server does: it keeps what it received, and asks for changes since. It never looks at a clock. */
class Server {
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
    const question = { guildId: this.#guildId, kind: this.#kind, placeId: undefined, limit };
    const since = this.#since;
    for (let position: string | undefined, isFirst = true; isFirst || position !== undefined; isFirst = false) {
      const asked = { ...question, position };
      const page = since === undefined ? await this.#lists.active(asked) : await this.#lists.changed(asked, since);
      for (const made of page.punishments) this.punishments.set(made.id, made);
      for (const { id } of page.lifted ?? []) this.punishments.delete(id);
      this.#since = page.serverTime;
      position = page.next;
      if (position !== undefined) await between();
    }
  }

  get permanent(): number[] {
    const kept = [...this.punishments].filter(([, { expiresAt }]) => expiresAt === null);
    return kept.map(([id]) => id).toSorted((a, b) => a - b);
  }
}

/**
 * Without the margin that is taken off an answer's time and without its rounding to seconds, a commit that is held over
 * one poll is as late as one that is held for any time. Processes' clocks jump by up to an hour.
 */
test.each([1, 2, 3].flatMap((seed) => KINDS.map((kind) => [kind, seed] as const)))(
  'who asks for changes of %ss since misses nothing, however late a commit comes and whatever clocks show (seed %i)',
  async (kind, seed) => {
    const random = seededRandom(seed);
    const guildId = newGuild();
    const lists = new Lists(readers, 0);
    const server = new Server(lists, guildId, kind);
    const all = writers.map((database) => new Writer(database));
    const realNow = Date.now.bind(Date);
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() + (random() - 0.5) * 7_200_000);

    const decide = (gameId: number) => async (on: Queryable, now: Date) => {
      const placeId = wholeNumber(random, 3) || null;
      const isMade = random() < 0.6;
      const isLifted = !isMade || random() < 0.3;
      const made = { kind, gameId, gameUsername: null, reason: 'R', placeId, durationSeconds: null, ...nobody };
      await store.endExpired(on, guildId, made, now);
      if (isLifted) await store.liftPunishments(on, guildId, made, now);
      if (isMade) await store.insertPunishment(on, guildId, made, now);
    };
    const step = async () => {
      const writer = all[wholeNumber(random, all.length)] as Writer;
      // Most are held for a while: others commit and the server polls meanwhile.
      if (writer.isOpen) return random() < 0.5 ? undefined : writer.end(random() < 0.85);
      const gameId = 1 + wholeNumber(random, PLAYERS);
      // Another transaction about the player would be waited for.
      if (all.some((other) => other.isOpen && other.gameId === gameId)) return;
      await writer.begin(guildId, gameId, decide(gameId));
    };

    let polls = 0;
    let heldOver = 0;
    for (let count = 0; count < STEPS; count++) {
      await step();
      if (random() > 0.15) continue;
      await server.poll(1 + wholeNumber(random, 6), step);
      polls += 1;
      if (all.some(({ isOpen }) => isOpen)) heldOver += 1;
    }
    for (const writer of all) await writer.end(true);
    await server.poll(3, async () => undefined);
    vi.restoreAllMocks();
    const rows = await readers.query<{ id: number }>(
      'SELECT id FROM moderation.punishments WHERE guild_id = $1 AND ended_at IS NULL ORDER BY id',
      [guildId],
    );
    expect([polls > 20, heldOver > 15]).toEqual([true, true]);
    expect(rows.length).toBeGreaterThan(3);
    expect(server.permanent).toEqual(rows.map(({ id }) => id));
  },
);
