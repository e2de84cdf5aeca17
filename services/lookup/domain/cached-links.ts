import type { ReadCache } from '#kit/changes/read-cache.ts';
import { ApiError } from '#kit/errors.ts';
import type { Account, Link, LinksRequest } from '../store/links.ts';
import type { LookupTelemetry } from '../telemetry.ts';
import { type Links, usersOf } from './links.ts';

export interface CachedLinksOptions {
  /** Reads links from the database. */
  links: Pick<Links, 'find'>;
  /** `accountName` is both the scope and the key, so that a removal invalidates only the link of this account. */
  cache: ReadCache<Link>;
  /** Returns true if this replica receives the changes of other replicas. Otherwise the cache is not used. */
  isReceiving: () => boolean;
  telemetry: LookupTelemetry;
}

/**
 * Finds links for clients. Links are cached; that a user is not linked never is, so that every replica finds a new link at
 * once.
 */
export class CachedLinks {
  readonly #options: CachedLinksOptions;

  constructor(options: CachedLinksOptions) {
    this.#options = options;
  }

  /** Returns the link of a chat or game account. Throws NOT_FOUND if the account is not linked in the guild. */
  async get(guildId: string, account: Account): Promise<Link> {
    const cached = this.#cached(guildId, account);
    if (cached) {
      this.#options.telemetry.found(1, 0);
      return cached;
    }
    const [link] = await this.#read({ guildId, ...usersOf(account) }, 0);
    if (!link) throw new ApiError('NOT_FOUND', { message: 'The user is not verified in this guild' });
    return link;
  }

  /** Returns the links of users in a guild, each once. One statement reads those that are not cached. */
  async find({ guildId, chatIds = [], gameIds = [] }: LinksRequest): Promise<Link[]> {
    // By version, because a request may name both accounts of a link. Two links of one account may be found if one of them was
    // removed just now by another replica.
    const found = new Map<number, Link>();
    const isMissing = (account: Account) => {
      const link = this.#cached(guildId, account);
      if (link) found.set(link.version, link);
      return !link;
    };
    const missing = {
      guildId,
      chatIds: chatIds.filter((chatId) => isMissing({ chatId })),
      gameIds: gameIds.filter((gameId) => isMissing({ gameId })),
    };
    const cached = chatIds.length + gameIds.length - missing.chatIds.length - missing.gameIds.length;
    for (const link of await this.#read(missing, cached)) found.set(link.version, link);
    return [...found.values()];
  }

  #cached(guildId: string, account: Account): Link | undefined {
    const { cache, isReceiving } = this.#options;
    if (!isReceiving()) return undefined;
    const name = accountName(guildId, account);
    return cache.find(name, name);
  }

  /**
   * Reads links and caches them by the accounts that were asked for. `cached` is the number of users of the request
   * whose link was cached, and is only counted.
   */
  async #read({ guildId, chatIds = [], gameIds = [] }: LinksRequest, cached: number): Promise<Link[]> {
    const { links, cache, telemetry } = this.#options;
    telemetry.found(cached, chatIds.length + gameIds.length);
    if (chatIds.length + gameIds.length === 0) return [];
    const read = cache.beginRead();
    const found = await links.find(guildId, { chatIds, gameIds });
    for (const link of found) {
      const accounts = [
        ...(chatIds.includes(link.chatId) ? [{ chatId: link.chatId }] : []),
        ...(gameIds.includes(link.gameId) ? [{ gameId: link.gameId }] : []),
      ];
      for (const name of accounts.map((account) => accountName(guildId, account))) cache.store(read, name, name, link);
    }
    return found;
  }
}

/** The name by which the link of an account is cached, and by which its removal is announced to other replicas. */
export const accountName = (guildId: string, account: Account) =>
  'chatId' in account ? `${guildId}/c${account.chatId}` : `${guildId}/g${account.gameId}`;
