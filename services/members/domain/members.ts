import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { ChatMember, ChatPlatform, ChatRole } from '#platforms/chat.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';

/** A member, and the link to a game account if there is one. */
export interface LinkedMember {
  member: ChatMember;
  link: Link | undefined;
}

export interface MemberFilters {
  roleId: string | undefined;
  verified: boolean | undefined;
}

/**
 * The position in a list: the platform's page that begins after one ID, and in it the members with IDs above another.
 */
interface Position {
  after: string;
  above: string;
}

/** A page of the platform has 1,000 members, so two are always enough for one of our pages. */
const MAX_PAGES = 2;
const START = '0';

/** The members and roles of a guild. */
export class Members {
  readonly #chat: ChatPlatform;
  readonly #lookup: GrpcClient<typeof LookupServiceService>;

  constructor(chat: ChatPlatform, lookup: GrpcClient<typeof LookupServiceService>) {
    this.#chat = chat;
    this.#lookup = lookup;
  }

  /** One member, never cached. Throws NOT_FOUND if the account is not in the guild. */
  async get(guildId: string, chatId: string): Promise<LinkedMember> {
    const [member, { links }] = await Promise.all([
      this.#chat.member(guildId, chatId),
      this.#lookup.getLinks({ guildId, chatIds: [chatId], gameIds: [] }),
    ]);
    if (!member) throw new ApiError('NOT_FOUND', { message: 'The account is not in this guild' });
    return { member, link: links[0] };
  }

  /** The guild's roles, highest first. */
  roles(guildId: string): Promise<ChatRole[]> {
    return this.#chat.roles(guildId);
  }

  /** A member's current roles, highest first; undefined if the account is not in the guild. */
  async rolesOf(guildId: string, chatId: string): Promise<ChatRole[] | undefined> {
    const [member, roles] = await Promise.all([this.#chat.member(guildId, chatId), this.#chat.roles(guildId)]);
    if (!member) return undefined;
    const held = (known: readonly ChatRole[]) => known.filter(({ id }) => member.roles.includes(id));
    if (held(roles).length === member.roles.length) return held(roles);
    // The member has a role that was created after the guild's roles were cached.
    return held(await this.#chat.roles(guildId, { fresh: true }));
  }

  /**
   * Members in the order of their chat IDs. `next` is the position of the next page, undefined on the last page. With a
   * filter only one page of the platform is searched, so a page may have fewer members than `limit`. Without a filter
   * every page except the last is full.
   */
  async list(
    guildId: string,
    { limit, position, ...filters }: MemberFilters & { limit: number; position: string },
  ): Promise<{ members: LinkedMember[]; next: string | undefined }> {
    const { found, after } = await this.#walk(guildId, readPosition(position), limit, filters);
    const { verified } = filters;
    const candidates = verified === undefined ? found.slice(0, limit + 1) : found;
    const linked = await this.#withLinks(guildId, candidates);
    const matching = verified === undefined ? linked : linked.filter(({ link }) => (link !== undefined) === verified);
    const members = matching.slice(0, limit);
    return { members, next: nextPosition(matching.length > limit ? members.at(-1) : undefined, after) };
  }

  /** The members after a position that match the role filter, and the start of the platform's next page. */
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

  /** Adds the links with one call to lookup. */
  async #withLinks(guildId: string, members: readonly (ChatMember & Position)[]) {
    if (members.length === 0) return [];
    const chatIds = members.map(({ chatId }) => chatId);
    const { links } = await this.#lookup.getLinks({ guildId, chatIds, gameIds: [] });
    const byChatId = new Map(links.map((link) => [link.chatId, link]));
    return members.map(({ after, above, ...member }) => {
      return { member, link: byChatId.get(member.chatId), after, above };
    });
  }
}

/** The position after `last` if the page has more members, otherwise the start of the platform's next page, if any. */
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

/** Compares snowflakes by their numeric value. */
export function isAbove(id: string, other: string): boolean {
  return id.length === other.length ? id > other : id.length > other.length;
}
