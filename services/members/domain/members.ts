import { invalidRequest } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { ChatMember, ChatPlatform, ChatRole } from '#platforms/chat.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { findLink, withLinks } from './links.ts';
import { notInGuild } from './rejections.ts';

/** A member of a guild, and the member's link to a game account if there is one. */
export interface LinkedMember {
  member: ChatMember;
  link: Link | undefined;
}

export interface MemberFilters {
  roleId: string | undefined;
  verified: boolean | undefined;
}

/**
 * The position in a list of members: `after` is the chat ID after which a page of the chat platform begins, and the
 * list continues with members of that page whose chat IDs are above `above`.
 */
interface Position {
  after: string;
  above: string;
}

/**
 * The maximum number of chat platform pages that one of our pages reads. A platform page has 1,000 members, so two are
 * always enough.
 */
const MAX_PAGES = 2;
const START = '0';

/** Reads the members and roles of guilds from the chat platform, and the members' links from the lookup service. */
export class Members {
  readonly #chat: ChatPlatform;
  readonly #lookup: GrpcClient<typeof LookupServiceService>;

  constructor(chat: ChatPlatform, lookup: GrpcClient<typeof LookupServiceService>) {
    this.#chat = chat;
    this.#lookup = lookup;
  }

  /** Returns one member, read without a cache. Throws NOT_FOUND if the account is not in the guild. */
  async get(guildId: string, chatId: string): Promise<LinkedMember> {
    const [member, link] = await Promise.all([
      this.#chat.member(guildId, chatId),
      findLink(this.#lookup, guildId, { chatId, gameId: undefined }),
    ]);
    if (!member) throw notInGuild();
    return { member, link };
  }

  /** Returns the guild's roles, the highest first. */
  roles(guildId: string): Promise<ChatRole[]> {
    return this.#chat.roles(guildId);
  }

  /**
   * Returns a member's roles, the highest first; undefined if the account is not in the guild. They may be some seconds
   * old, because every player of a game server whose permissions are read takes such a read.
   */
  async rolesOf(guildId: string, chatId: string): Promise<ChatRole[] | undefined> {
    const [member, roles] = await Promise.all([
      this.#chat.member(guildId, chatId, { mayBeOld: true }),
      this.#chat.roles(guildId, { mayBeOld: true }),
    ]);
    if (!member) return undefined;
    const held = (known: readonly ChatRole[]) => known.filter(({ id }) => member.roles.includes(id));
    if (held(roles).length === member.roles.length) return held(roles);
    // The member has a role that was created after the guild's roles were cached.
    return held(await this.#chat.roles(guildId, { fresh: true }));
  }

  /**
   * Returns a page of members in the order of their chat IDs. `next` is the position of the next page, undefined on the
   * last page. With a filter only one page of the chat platform is searched, so a page may have fewer members than
   * `limit`. Without a filter every page except the last is full.
   */
  async list(
    guildId: string,
    { limit, position, ...filters }: MemberFilters & { limit: number; position: string },
  ): Promise<{ members: LinkedMember[]; next: string | undefined }> {
    const { found, after } = await this.#walk(guildId, readPosition(position), limit, filters);
    const { verified } = filters;
    const candidates = verified === undefined ? found.slice(0, limit + 1) : found;
    const linked = (await withLinks(this.#lookup, guildId, candidates)).map(({ link, after, above, ...member }) => {
      return { member, link, after, above };
    });
    const matching = verified === undefined ? linked : linked.filter(({ link }) => (link !== undefined) === verified);
    const members = matching.slice(0, limit);
    return { members, next: nextPosition(matching.length > limit ? members.at(-1) : undefined, after) };
  }

  /**
   * Returns the members after a position that match the role filter, and the start of the chat platform's next page.
   */
  async #walk(guildId: string, start: Position, limit: number, filters: MemberFilters) {
    const isFiltered = filters.roleId !== undefined || filters.verified !== undefined;
    const found: (ChatMember & Position)[] = [];
    let after: string | null = start.after;
    for (let pages = 0; after !== null && found.length <= limit && pages < (isFiltered ? 1 : MAX_PAGES); pages++) {
      const page = await this.#chat.members(guildId, after);
      for (const member of page.members) {
        const matches = filters.roleId === undefined || member.roles.includes(filters.roleId);
        if (matches && isAbove(member.chatId, start.above)) found.push({ ...member, after, above: member.chatId });
      }
      after = page.next;
    }
    return { found, after };
  }
}

/**
 * Returns the position of the next page: after the member `last` if more members are read already, otherwise the start
 * of the chat platform's next page, if there is one.
 */
function nextPosition(last: Position | undefined, after: string | null): string | undefined {
  if (last) return `${last.after} ${last.above}`;
  return after === null ? undefined : `${after} ${after}`;
}

function readPosition(position: string): Position {
  if (position === '') return { after: START, above: START };
  const [, after, above] = /^([0-9]{1,20}) ([0-9]{1,20})$/.exec(position) ?? [];
  if (after !== undefined && above !== undefined) return { after, above };
  throw invalidRequest([{ path: 'query.cursor', message: 'is not a next_cursor of this list' }]);
}

/** Returns true if the snowflake `id` is greater than `other`, by numeric value. */
export function isAbove(id: string, other: string): boolean {
  return id.length === other.length ? id > other : id.length > other.length;
}
