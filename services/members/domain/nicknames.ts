import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, RepeatableWrite, WriteOutcome } from '#kit/postgres/idempotency.ts';
import type { ChatMember, ChatPlatform } from '#platforms/chat.ts';
import type { GamePlatform } from '#platforms/game.ts';
import type { BindingsServiceService } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { MembersEvents } from '../telemetry/members.ts';

/** The chat platform's limit. */
const MOST_CHARACTERS = 32;
const REASON = 'Guild Data: nickname synchronised';
const NOT_PERMITTED = "The bot lacks the permission to manage this member's nickname";
/** What the game platform calls who is not in a group. */
const NO_RANK = 'Guest';

/** A nickname as it is to be, or what it is made of. */
export interface NicknameWish {
  chatId: string;
  /** null for none. */
  nickname: string | null | undefined;
  template: string | undefined;
  /** Whose rank the template names; that of the first binding of a rank when undefined. */
  gameGroupId: number | undefined;
}

export interface NicknameChange {
  chat_id: string;
  from: string | null;
  to: string | null;
}

export interface NicknamesOptions {
  idempotency: Idempotency;
  lookup: GrpcClient<typeof LookupServiceService>;
  bindings: GrpcClient<typeof BindingsServiceService>;
  chat: ChatPlatform;
  game: GamePlatform;
  events: MembersEvents;
}

/** Sets nicknames on the chat platform. */
export class Nicknames {
  readonly #options: NicknamesOptions;

  constructor(options: NicknamesOptions) {
    this.#options = options;
  }

  /** NOT_FOUND for who is not in the guild; NOT_APPLICABLE where the bot can't set it. One that is right is left alone. */
  sync(write: RepeatableWrite, wish: NicknameWish): Promise<WriteOutcome<NicknameChange>> {
    const { idempotency } = this.#options;
    return idempotency.afterPreparing(
      write,
      () => this.#sync(write.guildId, wish),
      async (_, change) => ok(change),
    );
  }

  async #sync(guildId: string, wish: NicknameWish): Promise<NicknameChange> {
    const { chat, events } = this.#options;
    const member = await chat.member(guildId, wish.chatId);
    if (!member) throw notInGuild();
    const to = cleaned(wish.template === undefined ? wish.nickname : await this.#fill(guildId, member, wish));
    const change = { chat_id: member.chatId, from: member.nickname, to };
    if (to !== member.nickname) await this.#write(guildId, member, to);
    events.nicknameSynced(guildId, member.chatId, to !== member.nickname);
    return change;
  }

  async #write(guildId: string, member: ChatMember, nickname: string | null): Promise<void> {
    const { chat } = this.#options;
    const { chatId } = member;
    // Before the call: the platform counts those that it refuses.
    const [{ ownerId, managesNicknames }, roles] = await Promise.all([chat.standing(guildId), chat.roles(guildId)]);
    if (chatId === ownerId) throw notApplicable('The member owns the guild, and nobody else can change its nickname');
    if (!managesNicknames) throw notApplicable(NOT_PERMITTED);
    if (roles.some(({ id, belowBot }) => member.roles.includes(id) && !belowBot)) {
      throw notApplicable("The member's highest role is not below the bot's");
    }
    const outcome = await chat.changeNickname({ guildId, chatId, nickname, reason: REASON });
    if (outcome === 'no such member') throw notInGuild();
    if (outcome !== 'done') throw notApplicable(NOT_PERMITTED);
  }

  async #fill(guildId: string, member: ChatMember, { template = '', gameGroupId }: NicknameWish): Promise<string> {
    const values = new Map([['chat_username', member.username]]);
    if (/\{(?:game_username|rank_name)\}/.test(template)) {
      const link = await this.#linkOf(guildId, member.chatId);
      values.set('game_username', link.gameUsername);
      if (template.includes('{rank_name}')) {
        const groupId = gameGroupId ?? (await this.#groupOf(guildId));
        values.set('rank_name', await this.#rankName(link.gameId, groupId));
      }
    }
    return template.replaceAll(/\{([^{}]*)\}/g, (field, name: string) => values.get(name) ?? field);
  }

  async #linkOf(guildId: string, chatId: string): Promise<Link> {
    const { links } = await this.#options.lookup.getLinks({ guildId, chatIds: [chatId], gameIds: [] });
    if (links[0]) return links[0];
    throw new ApiError('NOT_FOUND', { message: 'The user is not verified in this guild' });
  }

  /** The group of the guild's first binding of a rank. */
  async #groupOf(guildId: string): Promise<number> {
    const { bindings } = await this.#options.bindings.listBindings({ guildId });
    for (const { target } of bindings) if (target?.$case === 'groupRank') return target.value.gameGroupId;
    throw notApplicable('No binding of this guild names a group: give game_group_id');
  }

  /** Of several roles in the group the highest. */
  async #rankName(gameId: number, groupId: number): Promise<string> {
    const { game } = this.#options;
    const [group, ranks] = await Promise.all([game.group(groupId), game.ranksIn(gameId, groupId)]);
    if (!group) {
      throw new ApiError('INVALID_TARGET', {
        message: `The game platform knows no group ${groupId}`,
        details: { errors: [{ path: 'body.game_group_id', message: 'is no group of the game platform' }] },
      });
    }
    const highest = Math.max(0, ...ranks);
    return group.roles.find(({ rank }) => rank === highest)?.name ?? NO_RANK;
  }
}

/** As the platform keeps it: without spaces around it, null when nothing is left. NOT_APPLICABLE when it is too long. */
function cleaned(nickname: string | null | undefined): string | null {
  const text = nickname?.trim() ?? '';
  if (Array.from(text).length > MOST_CHARACTERS) {
    throw notApplicable(`The nickname "${text}" has more than ${MOST_CHARACTERS} characters`);
  }
  return text === '' ? null : text;
}

const notApplicable = (message: string) => new ApiError('NOT_APPLICABLE', { message });
const notInGuild = () => new ApiError('NOT_FOUND', { message: 'The account is not in this guild' });
