import { LRUCache } from 'lru-cache';
import type { Clock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { within } from '#kit/resilience/deadline.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import { inParallel } from '#kit/resilience/parallel.ts';
import type { ChatPlatform } from '#platforms/chat.ts';
import type { GamePlatform, GameUser } from '#platforms/game.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { isAbove } from './members.ts';
import { type PlatformName, platformError } from './people-search.ts';

const CHAT_TTL_MS = 600_000;
const MAX_CACHED = 20_000;
/** The milliseconds that a request waits for each platform. Names that have arrived by then are returned. */
const WAIT_MS = 3_000;
/** The maximum number of concurrent calls for single members that one request makes. */
const MAX_CONCURRENT = 10;
/** From this number of missing names on, a page of the member list is read before single members. */
const MIN_FOR_PAGE = 3;

type Names<Id> = Map<Id, string | null>;

export interface ResolvedNames {
  chat: Names<string>;
  game: Names<number>;
  /** The platforms that did not return all names. */
  incomplete: PlatformName[];
}

export interface PersonNamesOptions {
  chat: ChatPlatform;
  game: GamePlatform;
  lookup: GrpcClient<typeof LookupServiceService>;
  clock: Clock;
}

/** Resolves the names of accounts. A name that is not known is null. */
export class PersonNames {
  readonly #options: PersonNamesOptions;
  /** The usernames of members by guild and chat ID; null for accounts that are not in the guild. */
  readonly #members = new LRUCache<string, { name: string | null; expiresAt: number }>(maxEntries(MAX_CACHED));

  constructor(options: PersonNamesOptions) {
    this.#options = options;
  }

  /** Returns the names of up to 100 accounts of each platform. A platform that fails leaves its names out. */
  async resolve(guildId: string, chatIds: readonly string[], gameIds: readonly number[]): Promise<ResolvedNames> {
    const incomplete = new Set<PlatformName>();
    const [chat, game] = await Promise.all([
      this.#chatNames(guildId, [...new Set(chatIds)], () => incomplete.add('chat')),
      this.#gameNames(guildId, [...new Set(gameIds)], () => incomplete.add('game')),
    ]);
    return { chat, game, incomplete: [...incomplete].sort() };
  }

  /** Returns names on the game platform, and the stored name of a link where the platform returns none. */
  async #gameNames(guildId: string, ids: readonly number[], failed: () => void): Promise<Names<number>> {
    const { game, lookup } = this.#options;
    if (ids.length === 0) return new Map();
    const users = await within(WAIT_MS, game.users(ids)).catch((error: unknown) => {
      platformError('game', error);
      failed();
      return new Map<number, GameUser>();
    });
    const missing = ids.filter((id) => !users.has(id));
    const { links } =
      missing.length === 0 ? { links: [] } : await lookup.getLinks({ guildId, chatIds: [], gameIds: missing });
    const stored = new Map(links.map(({ gameId, gameUsername }) => [gameId, gameUsername]));
    return new Map(ids.map((id) => [id, users.get(id)?.name ?? stored.get(id) ?? null]));
  }

  async #chatNames(guildId: string, ids: readonly string[], failed: () => void): Promise<Names<string>> {
    if (this.#missing(guildId, ids).length > 0) {
      const stop = new AbortController();
      await within(WAIT_MS, this.#load(guildId, ids, stop.signal)).catch((error: unknown) => {
        stop.abort();
        platformError('chat', error);
        failed();
      });
    }
    return new Map(ids.map((id) => [id, this.#members.get(keyOf(guildId, id))?.name ?? null]));
  }

  /** Loads the missing names. Most guilds fit into one page of the member list, so that one call is enough for them. */
  async #load(guildId: string, ids: readonly string[], signal: AbortSignal): Promise<void> {
    const { chat } = this.#options;
    const missing = this.#missing(guildId, ids);
    if (missing.length >= MIN_FOR_PAGE) await this.#loadPage(guildId, missing);
    await inParallel(
      this.#missing(guildId, missing),
      MAX_CONCURRENT,
      async (id) => this.#store(guildId, id, (await chat.member(guildId, id))?.username ?? null),
      signal,
    );
  }

  /** Loads the page of the member list that begins with the lowest of the IDs. */
  async #loadPage(guildId: string, ids: readonly string[]): Promise<void> {
    const lowest = ids.reduce((low, id) => (isAbove(low, id) ? id : low));
    const page = await this.#options.chat.members(guildId, String(BigInt(lowest) - 1n));
    const names = new Map(page.members.map(({ chatId, username }) => [chatId, username]));
    for (const id of ids) {
      const isCovered = page.next === null || !isAbove(id, page.next);
      if (isCovered) this.#store(guildId, id, names.get(id) ?? null);
    }
  }

  #missing(guildId: string, ids: readonly string[]): string[] {
    const now = this.#options.clock.now();
    return ids.filter((id) => (this.#members.get(keyOf(guildId, id))?.expiresAt ?? 0) <= now);
  }

  #store(guildId: string, id: string, name: string | null): void {
    this.#members.set(keyOf(guildId, id), { name, expiresAt: this.#options.clock.now() + CHAT_TTL_MS });
  }
}

const keyOf = (guildId: string, chatId: string) => `${guildId} ${chatId}`;
