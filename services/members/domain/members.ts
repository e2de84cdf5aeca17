import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { ChatMember, ChatPlatform, ChatRole } from '#platforms/chat.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';

/** A member with the link to a game account. */
export interface LinkedMember {
  member: ChatMember;
  link: Link | undefined;
}

export interface MemberFilters {
  roleId: string | undefined;
  verified: boolean | undefined;
}

/** Where a list goes on: in the platform's page after one ID, with the members above another. */
interface Position {
  after: string;
  above: string;
}

/** A page of the platform holds 1,000, so two are always enough for one of ours. */
const MOST_PAGES = 2;
const START = '0';

/** Who is in a guild. */
export class Members {
  readonly #chat: ChatPlatform;
  readonly #lookup: GrpcClient<typeof LookupServiceService>;

  constructor(chat: ChatPlatform, lookup: GrpcClient<typeof LookupServiceService>) {
    this.#chat = chat;
    this.#lookup = lookup;
  }

  /** One member as it is now; NOT_FOUND when the account is not in the guild. */
  async get(guildId: string, chatId: string): Promise<LinkedMember> {
    const [member, { links }] = await Promise.all([
      this.#chat.member(guildId, chatId),
      this.#lookup.getLinks({ guildId, chatIds: [chatId], gameIds: [] }),
    ]);
    if (!member) throw new ApiError('NOT_FOUND', { message: 'The account is not in this guild' });
    return { member, link: links[0] };
  }

  /** The guild's roles, the highest first. */
  roles(guildId: string): Promise<ChatRole[]> {
    return this.#chat.roles(guildId);
  }

  /** A member's roles as they are now, the highest first; undefined when the account is not in the guild. */
  async rolesOf(guildId: string, chatId: string): Promise<ChatRole[] | undefined> {
    const [member, roles] = await Promise.all([this.#chat.member(guildId, chatId), this.#chat.roles(guildId)]);
    if (!member) return undefined;
    const held = (known: readonly ChatRole[]) => known.filter(({ id }) => member.roles.includes(id));
    if (held(roles).length === member.roles.length) return held(roles);
    // One was made after the guild's roles were read.
    return held(await this.#chat.roles(guildId, { fresh: true }));
  }

  /**
   * Members in the order of their chat IDs; `next` is the position of the next page, undefined on the last. With a
   * filter one page of the platform is looked through, without one the page is full unless it is the last.
   */
  async list(
    guildId: string,
    { limit, position, ...filters }: MemberFilters & { limit: number; position: string },
  ): Promise<{ members: LinkedMember[]; next: string | undefined }> {
    const { found, after } = await this.#walk(guildId, readPosition(position), limit, filters);
    const { verified } = filters;
    const asked = verified === undefined ? found.slice(0, limit + 1) : found;
    const joined = await this.#join(guildId, asked);
    const matching = verified === undefined ? joined : joined.filter(({ link }) => (link !== undefined) === verified);
    const members = matching.slice(0, limit);
    return { members, next: nextPosition(matching.length > limit ? members.at(-1) : undefined, after) };
  }

  /** The members from a position on who fit what the platform knows, and the platform's page that follows them. */
  async #walk(guildId: string, start: Position, limit: number, filters: MemberFilters) {
    const isFiltered = filters.roleId !== undefined || filters.verified !== undefined;
    const found: (ChatMember & Position)[] = [];
    let after: string | null = start.after;
    for (let pages = 0; after !== null && found.length <= limit && pages < (isFiltered ? 1 : MOST_PAGES); pages++) {
      const page = await this.#chat.members(guildId, after);
      for (const member of page.members) {
        const fits = filters.roleId === undefined || member.roles.includes(filters.roleId);
        if (fits && isAbove(member.chatId, start.above)) found.push({ ...member, after, above: member.chatId });
      }
      after = page.next;
    }
    return { found, after };
  }

  /** Adds the links, in one call. */
  async #join(guildId: string, members: readonly (ChatMember & Position)[]) {
    if (members.length === 0) return [];
    const chatIds = members.map(({ chatId }) => chatId);
    const { links } = await this.#lookup.getLinks({ guildId, chatIds, gameIds: [] });
    const byChatId = new Map(links.map((link) => [link.chatId, link]));
    return members.map(({ after, above, ...member }) => {
      return { member, link: byChatId.get(member.chatId), after, above };
    });
  }
}

/** After the last member of a page that has more behind it, else at the platform's next page, if there is one. */
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

/** Snowflakes as the numbers that they are. */
export function isAbove(id: string, other: string): boolean {
  return id.length === other.length ? id > other : id.length > other.length;
}
