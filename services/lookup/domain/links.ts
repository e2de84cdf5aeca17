import { ApiError, invalidRequest } from '#kit/errors.ts';
import { readChangeTime } from '#kit/postgres/change-time.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Account, ChangedLink, Link, LinkChange, Position } from '../store/links.ts';
import * as store from '../store/links.ts';
import type { LookupEvents } from '../telemetry.ts';

const ALREADY_LINKED = 'One of the two accounts is linked in this guild already';

export interface LinkPage {
  links: Link[];
  /** Pairs that are not linked any more. Empty unless they were asked for. */
  unlinked: (Link & { unlinkedAt: number })[];
  /** Unix milliseconds, the same on every page: whoever asks for changes since then misses none. */
  serverTime: number;
  /** Where the next page begins; undefined on the last. */
  next: string | undefined;
}

export interface LinkHistory {
  /** The link now. */
  link: Link | undefined;
  /** Newest first. */
  changes: LinkChange[];
}

export interface LinkQuestion {
  /** Unix seconds, 0 for all. */
  updatedSince: number;
  withUnlinked: boolean;
  limit: number;
  /** The `next` of the page before, or empty. */
  position: string;
}

/** The links of a guild: reading them for everyone, changing them for members. */
export class Links {
  readonly #database: Queryable;
  readonly #events: LookupEvents;

  readonly #marginMs: number | undefined;

  /** `marginMs` is taken off the time of answers; the kit's own where left out. */
  constructor(database: Queryable, events: LookupEvents, marginMs?: number) {
    this.#database = database;
    this.#events = events;
    this.#marginMs = marginMs;
  }

  /** The links of these users, in one statement; those without one are left out. */
  find(guildId: string, users: { chatIds?: readonly string[]; gameIds?: readonly number[] }): Promise<Link[]> {
    return store.findLinks(this.#database, guildId, users);
  }

  /** The link of one user; undefined when there is none. */
  async findOne(guildId: string, account: Account): Promise<Link | undefined> {
    const users = 'chatId' in account ? { chatIds: [account.chatId] } : { gameIds: [account.gameId] };
    return (await this.find(guildId, users))[0];
  }

  /** The link of one user; NOT_FOUND when there is none. */
  async get(guildId: string, account: Account): Promise<Link> {
    const link = await this.findOne(guildId, account);
    if (!link) throw new ApiError('NOT_FOUND', { message: 'The user is not verified in this guild' });
    return link;
  }

  /** A page of links, the least recently changed first. */
  async list(guildId: string, { updatedSince, position, limit, withUnlinked }: LinkQuestion): Promise<LinkPage> {
    const start = position === '' ? await this.#start(updatedSince) : readPosition(position);
    const rows = await store.listLinks(this.#database, guildId, start, { limit: limit + 1, withUnlinked });
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return {
      links: page.filter(({ isUnlinked }) => !isUnlinked),
      // A pair that is linked again is only listed as a link, so that a caller may apply the two in any order. Left out
      // here and not in the statement, which would read past all such pairs to fill a page.
      unlinked: page
        .filter(({ isUnlinked, isLinkedAgain }) => isUnlinked && !isLinkedAgain)
        .map((gone) => ({ ...gone, unlinkedAt: unlinkedAt(gone) })),
      serverTime: start.serverTime,
      next: last && writePosition({ ...last, serverTime: start.serverTime }),
    };
  }

  /** The server time is read before any row. No chat ID is smaller than the empty text: all rows of a time follow it. */
  async #start(updatedSince: number): Promise<PagePosition> {
    const { completeUntil } = await readChangeTime(this.#database, this.#marginMs);
    return { updatedAt: updatedSince * 1_000_000, chatId: '', serverTime: completeUntil };
  }

  /** How many there are. */
  count(guildId: string): Promise<number> {
    return store.countLinks(this.#database, guildId);
  }

  /** What happened to a chat account's links, newest first, and its link now. */
  async history(guildId: string, chatId: string, limit: number): Promise<LinkHistory> {
    const changes = await store.listChanges(this.#database, guildId, chatId, limit);
    return { link: changes.find((change) => change.version === change.linkedVersion), changes };
  }

  /**
   * Links two accounts; CONFLICT if either is linked, whose `details.conflict` is that link. The same operation again
   * has its first outcome.
   */
  async create(guildId: string, operationId: string, link: Omit<Link, 'version'>): Promise<Link> {
    const created = await store.insertLink(this.#database, guildId, operationId, link);
    if (created) {
      this.#events.linked(guildId, created);
      return created;
    }
    const earlier = await store.findOutcome(this.#database, guildId, operationId, 'linked');
    if (earlier) return earlier;
    this.#events.refused(guildId, operationId, 'linked already');
    throw await this.#conflict(guildId, link);
  }

  /** Names the link of the chat account, or else that of the game account; none if it was removed a moment ago. */
  async #conflict(guildId: string, { chatId, gameId }: Omit<Link, 'version'>): Promise<ApiError> {
    const links = await this.find(guildId, { chatIds: [chatId], gameIds: [gameId] });
    const link = links.find((found) => found.chatId === chatId) ?? links[0];
    const details = link && { conflict: { chat_id: link.chatId, game_id: link.gameId } };
    return new ApiError('CONFLICT', { message: ALREADY_LINKED, ...(details && { details }) });
  }

  /** Removes a link; NOT_FOUND if there is none. The same operation again has its first outcome. */
  async delete(guildId: string, operationId: string, account: Account): Promise<Link> {
    const deleted = await store.deleteLink(this.#database, guildId, operationId, account);
    if (deleted) {
      this.#events.unlinked(guildId, deleted);
      return deleted;
    }
    const earlier = await store.findOutcome(this.#database, guildId, operationId, 'unlinked');
    if (earlier) return earlier;
    this.#events.refused(guildId, operationId, 'not linked');
    throw new ApiError('NOT_FOUND', { message: 'The user is not linked in this guild' });
  }
}

/** Where a page begins, and when its list was begun. */
interface PagePosition extends Position {
  serverTime: number;
}

/** Unix milliseconds. */
const unlinkedAt = ({ updatedAt }: ChangedLink) => Math.floor(updatedAt / 1_000);

/** The release before wrote no time: who goes on from its cursor asks for all changes next. */
const POSITION = /^([0-9]{1,16})_([0-9]{17,20})(?:_([0-9]{1,14}))?$/;

const writePosition = ({ updatedAt, chatId, serverTime }: PagePosition) => `${updatedAt}_${chatId}_${serverTime}`;

function readPosition(text: string): PagePosition {
  const [, updatedAt, chatId, serverTime = '0'] = POSITION.exec(text) ?? [];
  if (updatedAt === undefined || chatId === undefined) {
    throw invalidRequest([{ path: 'request.position', message: 'is not a next_position of a page' }]);
  }
  return { updatedAt: Number(updatedAt), chatId, serverTime: Number(serverTime) };
}
