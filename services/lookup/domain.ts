import type { Clock } from '#kit/clock.ts';
import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres.ts';
import type { LookupEvents } from './events.ts';
import * as store from './store.ts';
import type { Account, Link, LinkChange, Position } from './store.ts';

/** A change gets its time before it commits, so who asks "since when" is answered from a little earlier. */
const OVERLAP_SECONDS = 5;

const ALREADY_LINKED = 'One of the two accounts is linked in this guild already';

export interface LinkPage {
  links: Link[];
  /** Where the next page begins; undefined on the last. */
  next: string | undefined;
}

export interface LinkHistory {
  /** The link now. */
  link: Link | undefined;
  /** Newest first. */
  changes: LinkChange[];
}

/** The links of a guild: reading them for everyone, changing them for members. */
export class Links {
  readonly #database: Queryable;
  readonly #clock: Clock;
  readonly #events: LookupEvents;

  constructor(database: Queryable, clock: Clock, events: LookupEvents) {
    this.#database = database;
    this.#clock = clock;
    this.#events = events;
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

  /** A page of links, the least recently changed first. `updatedSince` in Unix seconds, 0 for all. */
  async list(guildId: string, page: { updatedSince: number; limit: number; position: string }): Promise<LinkPage> {
    const start = page.position === '' ? startOf(page.updatedSince) : readPosition(page.position);
    const rows = await store.listLinks(this.#database, guildId, start, page.limit + 1);
    const links = rows.slice(0, page.limit);
    const last = links.at(-1);
    return { links, next: rows.length > links.length && last ? writePosition(last) : undefined };
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
    const now = new Date(this.#clock.now());
    const created = await store.insertLink(this.#database, guildId, operationId, now, link);
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
    const now = new Date(this.#clock.now());
    const deleted = await store.deleteLink(this.#database, guildId, operationId, now, account);
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

/** No chat ID is smaller than the empty text, so all rows of that very time follow. */
function startOf(updatedSince: number): Position {
  return { updatedAt: Math.max(0, updatedSince - OVERLAP_SECONDS) * 1_000_000, chatId: '' };
}

const POSITION = /^([0-9]{1,16})_([0-9]{17,20})$/;

const writePosition = ({ updatedAt, chatId }: Position) => `${updatedAt}_${chatId}`;

function readPosition(text: string): Position {
  const [, updatedAt, chatId] = POSITION.exec(text) ?? [];
  if (updatedAt === undefined || chatId === undefined) {
    throw invalidRequest([{ path: 'request.position', message: 'is not a next_position of a page' }]);
  }
  return { updatedAt: Number(updatedAt), chatId };
}
