import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Database, Queryable } from '#kit/postgres.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/database.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { Lists } from './domain/lists.ts';
import { newGuild } from './fixture.ts';
import * as store from './store/decisions.ts';

const STEPS = 400;
const WRITERS = 5;
const PLAYERS = 12;
/** A transaction may take so long, by the clock that stamps its rows. */
const LONGEST_MS = 4_500;

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

/** A transaction that has decided and is held back. */
class Writer {
  readonly #database: Database;
  #release: PromiseWithResolvers<boolean> | undefined;
  #ended: Promise<void> = Promise.resolve();
  gameId = 0;
  startedAt = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  get isOpen(): boolean {
    return this.#release !== undefined;
  }

  /** Resolves when everything is decided and nothing is committed. */
  async begin(gameId: number, now: number, decide: (on: Queryable) => Promise<unknown>): Promise<void> {
    const release = Promise.withResolvers<boolean>();
    const decided = Promise.withResolvers<void>();
    Object.assign(this, { gameId, startedAt: now });
    this.#release = release;
    const work = this.#database.transaction(async (transaction) => {
      await decide(transaction);
      decided.resolve();
      if (!(await release.promise)) throw new Error('rolled back');
    });
    this.#ended = work.catch((error: Error) => {
      decided.reject(error);
      if (error.message !== 'rolled back') throw error;
    });
    await decided.promise;
  }

  async end(commits: boolean): Promise<void> {
    this.#release?.resolve(commits);
    this.#release = undefined;
    await this.#ended;
  }
}

/** What a game server does: it keeps what it was told, and asks for changes since. */
class Server {
  readonly bans = new Map<number, { gameId: number; placeId: number | null; expiresAt: Date | null }>();
  readonly #lists: Lists;
  readonly #guildId: string;
  #since: number | undefined;

  constructor(lists: Lists, guildId: string) {
    this.#lists = lists;
    this.#guildId = guildId;
  }

  /** `between` runs after each page. */
  async poll(limit: number, between: () => Promise<void>): Promise<void> {
    const question = { guildId: this.#guildId, kind: 'ban' as const, placeId: undefined, limit };
    const since = this.#since;
    for (let position: string | undefined, isFirst = true; isFirst || position !== undefined; isFirst = false) {
      const asked = { ...question, position };
      const page = since === undefined ? await this.#lists.active(asked) : await this.#lists.changed(asked, since);
      for (const ban of page.punishments) this.bans.set(ban.id, ban);
      for (const { id } of page.lifted ?? []) this.bans.delete(id);
      // As it is told: whole seconds.
      this.#since = Math.floor(page.serverTime / 1000) * 1000;
      position = page.next;
      if (position !== undefined) await between();
    }
  }

  inForce(now: number): number[] {
    const bans = [...this.bans].filter(([, { expiresAt }]) => expiresAt === null || expiresAt.getTime() > now);
    return bans.map(([id]) => id).toSorted((a, b) => a - b);
  }
}

test.each([1, 2, 3])(
  'who asks for changes since misses nothing, whatever commits in between (seed %i)',
  async (seed) => {
    const random = seededRandom(seed);
    const clock = new ManualClock(Date.now());
    const guildId = newGuild();
    const lists = new Lists(readers, clock);
    const server = new Server(lists, guildId);
    const all = writers.map((database) => new Writer(database));

    const decide = (gameId: number) => (on: Queryable) => {
      const placeId = wholeNumber(random, 3) || null;
      const [isBan, durationSeconds] = [random() < 0.6, random() < 0.3 ? 1 + wholeNumber(random, 20) : null];
      return (async () => {
        await store.lockUser(on, guildId, gameId);
        const now = new Date(clock.now());
        const ban = {
          kind: 'ban' as const,
          gameId,
          gameUsername: null,
          reason: 'R',
          placeId,
          durationSeconds,
          ...nobody,
        };
        await store.endExpired(on, guildId, ban, now);
        if (!isBan || random() < 0.3) await store.liftPunishments(on, guildId, ban, now);
        if (isBan) await store.insertPunishment(on, guildId, ban, now);
      })();
    };
    const step = async () => {
      clock.advance(wholeNumber(random, 800));
      for (const writer of all) {
        if (writer.isOpen && clock.now() - writer.startedAt > LONGEST_MS) await writer.end(true);
      }
      const writer = all[wholeNumber(random, all.length)] as Writer;
      if (writer.isOpen) return writer.end(random() < 0.85);
      const gameId = 1 + wholeNumber(random, PLAYERS);
      // Another transaction about the player would be waited for.
      if (all.some((other) => other.isOpen && other.gameId === gameId)) return;
      await writer.begin(gameId, clock.now(), decide(gameId));
    };

    let polls = 0;
    for (let count = 0; count < STEPS; count++) {
      await step();
      if (random() > 0.15) continue;
      await server.poll(1 + wholeNumber(random, 6), step);
      polls += 1;
    }
    for (const writer of all) await writer.end(true);
    await server.poll(3, async () => undefined);
    const rows = await readers.query<{ id: number }>(
      `SELECT id FROM moderation.punishments
     WHERE guild_id = $1 AND ended_at IS NULL AND expires_at > $2 ORDER BY id`,
      [guildId, new Date(clock.now())],
    );
    expect(polls).toBeGreaterThan(20);
    expect(rows.length).toBeGreaterThan(3);
    expect(server.inForce(clock.now())).toEqual(rows.map(({ id }) => id));
  },
);
