import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { DeadlineError, within } from '#kit/resilience/deadline.ts';
import type { ChatMember, ChatPlatform } from '#platforms/chat.ts';
import type { GamePlatform, GameUser } from '#platforms/game.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { MAX_FOUND } from '#proto/rest/directory.ts';
import { gameId as gameIdSchema, isSnowflake } from '#proto/rest/schemas.ts';

/** The milliseconds that a search waits for each platform; the timeout of the whole request is 8 s. */
const SEARCH_MS = 3_500;
/** The milliseconds that a search then waits for the member that is linked to a found game account. */
const MEMBER_MS = 2_000;

export type PlatformName = 'chat' | 'game';

/** A person: a chat account, a game account, or both if they are linked. Fields that are not known are null. */
export interface Person {
  chatId: string | null;
  chatUsername: string | null;
  nickname: string | null;
  gameId: number | null;
  gameUsername: string | null;
}

export interface SearchResult {
  people: Person[];
  /** The platforms that did not respond. */
  incomplete: PlatformName[];
}

export interface PeopleSearchOptions {
  chat: ChatPlatform;
  game: GamePlatform;
  lookup: GrpcClient<typeof LookupServiceService>;
}

/** Finds persons of a guild by an ID or a name. Linked accounts are one person. */
export class PeopleSearch {
  readonly #options: PeopleSearchOptions;

  constructor(options: PeopleSearchOptions) {
    this.#options = options;
  }

  /**
   * Finds persons by a chat ID, a game ID, the beginning of a name on the chat platform, or a whole name on the game
   * platform. Returns what the platforms that respond know. Throws the error of a platform if nothing was found.
   */
  async find(guildId: string, query: string): Promise<SearchResult> {
    const failures = new Failures();
    const people = /^[0-9]+$/.test(query)
      ? await this.#byId(guildId, query, failures)
      : await this.#byName(guildId, query, failures);
    if (people.length === 0) failures.throwFirst();
    return { people: people.slice(0, MAX_FOUND), incomplete: failures.platforms };
  }

  async #byId(guildId: string, digits: string, failures: Failures): Promise<Person[]> {
    const { chat, game } = this.#options;
    if (isSnowflake(digits)) {
      const [member, [link]] = await Promise.all([
        failures.orUndefined('chat', SEARCH_MS, chat.member(guildId, digits)),
        this.#links(guildId, { chatIds: [digits] }),
      ]);
      return member || link ? [personOf(member ?? undefined, link, undefined)] : [];
    }
    const { data: gameId } = gameIdSchema.safeParse(digits);
    if (gameId === undefined) return [];
    const user = (await failures.orUndefined('game', SEARCH_MS, game.user(gameId))) ?? undefined;
    const [link] = await this.#links(guildId, { gameIds: [gameId] });
    if (!user && !link) return [];
    return [personOf(await this.#memberOf(guildId, link, failures), link, user)];
  }

  async #byName(guildId: string, name: string, failures: Failures): Promise<Person[]> {
    const { chat, game } = this.#options;
    const [members = [], found] = await Promise.all([
      failures.orUndefined('chat', SEARCH_MS, chat.search(guildId, name, MAX_FOUND)),
      failures.orUndefined('game', SEARCH_MS, game.userByName(name)),
    ]);
    const user = found ?? undefined;
    const chatIds = members.map(({ chatId }) => chatId);
    const links = await this.#links(guildId, { chatIds, gameIds: user ? [user.id] : [] });
    const byChatId = new Map(links.map((link) => [link.chatId, link]));
    const people = members.map((member) => {
      const link = byChatId.get(member.chatId);
      return personOf(member, link, link?.gameId === user?.id ? user : undefined);
    });
    if (user && !people.some(({ gameId }) => gameId === user.id)) {
      const link = links.find(({ gameId }) => gameId === user.id);
      people.unshift(personOf(await this.#memberOf(guildId, link, failures), link, user));
    }
    return exactFirst(people, name, user?.id);
  }

  /** Returns the links of accounts of either platform. */
  async #links(
    guildId: string,
    { chatIds = [], gameIds = [] }: { chatIds?: string[]; gameIds?: number[] },
  ): Promise<Link[]> {
    if (chatIds.length + gameIds.length === 0) return [];
    return (await this.#options.lookup.getLinks({ guildId, chatIds, gameIds })).links;
  }

  async #memberOf(guildId: string, link: Link | undefined, failures: Failures): Promise<ChatMember | undefined> {
    // A second call to a platform that has just failed would only make the caller wait longer.
    if (!link || failures.platforms.includes('chat')) return undefined;
    const { chat } = this.#options;
    return (await failures.orUndefined('chat', MEMBER_MS, chat.member(guildId, link.chatId))) ?? undefined;
  }
}

/** Collects the errors of platforms during one search. */
class Failures {
  readonly #errors = new Map<PlatformName, ApiError>();

  get platforms(): PlatformName[] {
    return [...this.#errors.keys()].sort();
  }

  /** Returns the result of a call to a platform; undefined if the platform fails or does not respond in time. */
  async orUndefined<Result>(
    platform: PlatformName,
    deadlineMs: number,
    call: Promise<Result>,
  ): Promise<Result | undefined> {
    try {
      return await within(deadlineMs, call);
    } catch (error) {
      this.#errors.set(platform, platformError(platform, error));
      return undefined;
    }
  }

  /** Throws the first error, if there is one. */
  throwFirst(): void {
    for (const error of this.#errors.values()) throw error;
  }
}

/** Returns the error of a platform for the client. Rethrows errors that no platform has caused. */
export function platformError(platform: PlatformName, error: unknown): ApiError {
  if (error instanceof DeadlineError) {
    return new ApiError('TIMEOUT', { message: `The ${platform} platform took too long`, cause: error });
  }
  if (error instanceof ApiError && error.code !== 'INTERNAL') return error;
  throw error;
}

function personOf(member: ChatMember | undefined, link: Link | undefined, user: GameUser | undefined): Person {
  return {
    chatId: member?.chatId ?? link?.chatId ?? null,
    chatUsername: member?.username ?? null,
    nickname: member?.nickname ?? null,
    gameId: user?.id ?? link?.gameId ?? null,
    gameUsername: user?.name ?? link?.gameUsername ?? null,
  };
}

/** Moves persons with exactly this name to the front; otherwise the order stays. */
function exactFirst(people: readonly Person[], name: string, gameId: number | undefined): Person[] {
  const wanted = name.toLowerCase();
  const isExact = (person: Person) =>
    (gameId !== undefined && person.gameId === gameId) ||
    [person.chatUsername, person.nickname].some((known) => known?.toLowerCase() === wanted);
  return [...people.filter(isExact), ...people.filter((person) => !isExact(person))];
}
