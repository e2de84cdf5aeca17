import { ApiError, invalidRequest } from '#kit/errors.ts';
import { readChangeTime } from '#kit/postgres/change-time.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import type { LookupEvents } from '../events.ts';
import type { Account, ChangedLink, Link, LinkChange, Position } from '../store/links.ts';
import * as store from '../store/links.ts';
import type { LookupTelemetry } from '../telemetry.ts';
import { LinkReads } from './link-reads.ts';

const ALREADY_LINKED = 'One of the two accounts is linked in this guild already';

export interface LinkPage {
  links: Link[];
  /** Links that were removed; empty unless the caller requested them. */
  unlinked: (Link & { unlinkedAt: number })[];
  /**
   * The server time in Unix milliseconds, the same on every page of a list. A later request for changes since this time
   * misses none.
   */
  serverTime: number;
  /** The position at which the next page begins; undefined on the last page. */
  next: string | undefined;
}

export interface LinkHistory {
  /** The current link of the chat account; undefined if there is none. */
  link: Link | undefined;
  /** The changes of the chat account's links, the newest first. */
  changes: LinkChange[];
}

export interface LinkListRequest {
  /** Lists only links changed since this time in Unix seconds; 0 for all links. */
  updatedSince: number;
  withUnlinked: boolean;
  limit: number;
  /** The position at which the page begins: `next` of the previous page; empty for the first page. */
  position: string;
}

export interface LinksOptions {
  database: Database;
  telemetry: LookupTelemetry;
  events: LookupEvents;
  /** Called with each removed link after the commit, also if its outcome is unknown, and with each repeat. */
  removed: (guildId: string, link: Link) => void;
  /** Milliseconds subtracted from the server time of lists; see `readChangeTime` for the default. */
  marginMs?: number;
}

/** Reads and changes the links between chat and game accounts in guilds. Only the members service requests changes. */
export class Links {
  readonly #database: Database;
  readonly #reads: LinkReads;
  readonly #telemetry: LookupTelemetry;
  readonly #events: LookupEvents;
  readonly #removed: LinksOptions['removed'];
  readonly #marginMs: number | undefined;

  constructor({ database, telemetry, events, removed, marginMs }: LinksOptions) {
    this.#database = database;
    this.#reads = new LinkReads(database);
    this.#telemetry = telemetry;
    this.#events = events;
    this.#removed = removed;
    this.#marginMs = marginMs;
  }

  /** Returns the links of users in a guild. */
  find(guildId: string, users: Omit<store.LinksRequest, 'guildId'>): Promise<Link[]> {
    return this.#reads.find({ guildId, ...users });
  }

  /** Returns the link of a chat or game account; undefined if the account is not linked in the guild. */
  async findOne(guildId: string, account: Account): Promise<Link | undefined> {
    return (await this.find(guildId, usersOf(account)))[0];
  }

  /** Returns a page of links, the least recently changed link first. */
  async list(guildId: string, { updatedSince, position, limit, withUnlinked }: LinkListRequest): Promise<LinkPage> {
    const start = position === '' ? await this.#start(updatedSince) : readPosition(position);
    const rows = await store.listLinks(this.#database, guildId, start, { limit: limit + 1, withUnlinked });
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return {
      links: page.filter(({ isUnlinked }) => !isUnlinked),
      // A removed link whose accounts are linked again is listed only as a link, so that a caller may apply both lists
      // in any order. Such rows are filtered here, because the statement would have to skip all of them to fill a page.
      unlinked: page
        .filter(({ isUnlinked, isLinkedAgain }) => isUnlinked && !isLinkedAgain)
        .map((removed) => ({ ...removed, unlinkedAt: unlinkedAt(removed) })),
      serverTime: start.serverTime,
      next: last && writePosition({ ...last, serverTime: start.serverTime }),
    };
  }

  /**
   * Returns the position of a list's first page. The server time is read before any row. The empty chat ID is smaller
   * than every other chat ID, so no row of that time is skipped.
   */
  async #start(updatedSince: number): Promise<PagePosition> {
    const { completeUntil } = await readChangeTime(this.#database, this.#marginMs);
    return { updatedAt: updatedSince * 1_000_000, chatId: '', serverTime: completeUntil };
  }

  /** Returns the number of links of a guild. */
  count(guildId: string): Promise<number> {
    return store.countLinks(this.#database, guildId);
  }

  /** Returns the changes of a chat account's links, the newest first, and the current link of the account. */
  async history(guildId: string, chatId: string, limit: number): Promise<LinkHistory> {
    const changes = await store.listChanges(this.#database, guildId, chatId, limit);
    return { link: changes.find((change) => change.version === change.linkedVersion), changes };
  }

  /**
   * Links a chat and a game account. Throws CONFLICT with `details.conflict` if either account is linked. A repeat of
   * the same operation has the outcome of the first one.
   */
  async create(guildId: string, operationId: string, link: Omit<Link, 'version'>): Promise<Link> {
    const created = await this.#runOnce(async (transaction) => {
      const inserted = await store.insertLink(transaction, guildId, operationId, link);
      if (inserted) await this.#events.linked(transaction, guildId, inserted);
      return inserted;
    });
    if (created) {
      this.#telemetry.linked(guildId, created);
      return created;
    }
    const earlier = await store.findOutcome(this.#database, guildId, operationId, 'linked');
    if (earlier) return earlier;
    this.#telemetry.rejected(guildId, operationId, 'linked already');
    throw await this.#conflict(guildId, link);
  }

  /**
   * Returns the error CONFLICT with the existing link of the chat account or of the game account, or without a link if
   * it was removed just now.
   */
  async #conflict(guildId: string, { chatId, gameId }: Omit<Link, 'version'>): Promise<ApiError> {
    const links = await this.find(guildId, { chatIds: [chatId], gameIds: [gameId] });
    const link = links.find((found) => found.chatId === chatId) ?? links[0];
    const details = link && { conflict: { chat_id: link.chatId, game_id: link.gameId } };
    return new ApiError('CONFLICT', { message: ALREADY_LINKED, ...(details && { details }) });
  }

  /**
   * Removes the link of an account. Throws NOT_FOUND if the account is not linked. A repeat of the same operation has
   * the outcome of the first one.
   */
  async delete(guildId: string, operationId: string, account: Account): Promise<Link> {
    const deleted = await this.#runOnce(async (transaction) => {
      const link = await store.deleteLink(transaction, guildId, operationId, account);
      if (!link) return undefined;
      await this.#events.unlinked(transaction, guildId, link);
      transaction.afterCommit(() => this.#removed(guildId, link));
      return link;
    });
    if (deleted) {
      this.#telemetry.unlinked(guildId, deleted);
      return deleted;
    }
    const earlier = await store.findOutcome(this.#database, guildId, operationId, 'unlinked');
    if (earlier) {
      // The replica that removed the link may not have announced it.
      this.#removed(guildId, earlier);
      return earlier;
    }
    this.#telemetry.rejected(guildId, operationId, 'not linked');
    throw new ApiError('NOT_FOUND', { message: 'The user is not linked in this guild' });
  }

  /** Runs a write in a transaction. Returns undefined if its operation was executed before. */
  async #runOnce<Result extends Link>(
    write: (transaction: Transaction) => Promise<Result | undefined>,
  ): Promise<Result | undefined> {
    try {
      return await this.#database.transaction(write);
    } catch (error) {
      if (store.isRepeatedOperation(error)) return undefined;
      throw error;
    }
  }
}

/** The users of a request for the link of one account. */
export const usersOf = (account: Account) =>
  'chatId' in account ? { chatIds: [account.chatId] } : { gameIds: [account.gameId] };

/** The position at which a page of links begins, and the server time of the first page of the same list. */
interface PagePosition extends Position {
  serverTime: number;
}

/** Returns the time at which a link was removed, in Unix milliseconds. */
const unlinkedAt = ({ updatedAt }: ChangedLink) => Math.floor(updatedAt / 1_000);

/**
 * Matches the position of a page of links. Positions of the previous release have no server time; it counts as 0, and
 * the next request for changes then returns all of them.
 */
const POSITION = /^([0-9]{1,16})_([0-9]{17,20})(?:_([0-9]{1,14}))?$/;

const writePosition = ({ updatedAt, chatId, serverTime }: PagePosition) => `${updatedAt}_${chatId}_${serverTime}`;

function readPosition(text: string): PagePosition {
  const [, updatedAt, chatId, serverTime = '0'] = POSITION.exec(text) ?? [];
  if (updatedAt === undefined || chatId === undefined) {
    throw invalidRequest([{ path: 'request.position', message: 'is not a next_position of a page' }]);
  }
  return { updatedAt: Number(updatedAt), chatId, serverTime: Number(serverTime) };
}
