import { ApiError } from '#kit/errors.ts';
import { currentEventSource } from '#kit/events/source.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, IdempotentWrite, WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import type { Freshness } from '#kit/resilience/cache.ts';
import type { ChatMember, ChatPlatform } from '#platforms/chat.ts';
import type { GamePlatform } from '#platforms/game.ts';
import type { BindingsServiceService } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { MemberEvents } from '../events.ts';
import { type BegunNickname, beginNickname, endNickname, findBegunNickname } from '../store/nickname-changes.ts';
import type { MemberName } from '../store/roles.ts';
import type { MembersTelemetry } from '../telemetry/members.ts';
import { linkOf } from './links.ts';
import { notApplicable, notInGuild } from './rejections.ts';
import type { BindingNickname } from './verdicts.ts';

/** The maximum number of characters in a nickname on the chat platform. */
const MAX_CHARACTERS = 32;
const REASON = 'Guild Data: nickname synchronised';
const NOT_PERMITTED = "The bot lacks the permission to manage this member's nickname";
/** The game platform's name for the rank of users who are not in a group. */
const NO_RANK = 'Guest';

/** A nickname, given as the nickname itself or as a template for it. */
interface WantedNickname {
  /** The nickname to set; null removes the member's nickname, undefined means that `template` is used. */
  nickname?: string | null | undefined;
  template: string | undefined;
  /**
   * The group whose rank name fills `{rank_name}` in the template; if undefined, the group of the guild's first rank
   * binding.
   */
  gameGroupId?: number | undefined;
  /** The member's link, if the caller has read it. */
  link?: Link;
  /** How new the rank must be that fills `{rank_name}`. */
  freshness?: Freshness | undefined;
}

/** A template for the nickname of a member whose link is known. */
export interface TemplateForMember extends BindingNickname {
  link: Link;
  /** How new the rank must be that fills `{rank_name}`. */
  freshness?: Freshness | undefined;
}

/** A request to set a member's nickname. */
export interface NicknameRequest extends WantedNickname {
  chatId: string;
}

export interface NicknameChange {
  chat_id: string;
  from: string | null;
  to: string | null;
}

/** The result of a request, and the change that its event reports. */
interface Synced {
  change: NicknameChange;
  /** The change with those that were begun before and not reported; undefined if there is nothing to report. */
  begun: BegunNickname | undefined;
}

export interface NicknamesOptions {
  database: Database;
  idempotency: Idempotency;
  lookup: GrpcClient<typeof LookupServiceService>;
  bindings: GrpcClient<typeof BindingsServiceService>;
  chat: ChatPlatform;
  game: GamePlatform;
  telemetry: MembersTelemetry;
  events: MemberEvents;
}

/** Sets the nicknames of members on the chat platform. */
export class Nicknames {
  readonly #options: NicknamesOptions;

  constructor(options: NicknamesOptions) {
    this.#options = options;
  }

  /**
   * Sets a member's nickname if it differs from the current one. Throws NOT_FOUND if the account is not in the guild,
   * and NOT_APPLICABLE if the bot cannot set the nickname.
   */
  sync(write: IdempotentWrite, request: NicknameRequest): Promise<WriteOutcome<NicknameChange>> {
    const { idempotency } = this.#options;
    return idempotency.afterPreparing(
      write,
      () => this.#sync(write.guildId, request),
      async (transaction, { change, begun }) => {
        const member = { guildId: write.guildId, chatId: request.chatId };
        if (begun) await this.#report(transaction, member, begun);
        return ok(change);
      },
    );
  }

  /**
   * Reports a change that was begun and not reported if it was made, as the member's nickname shows. The chat platform is
   * outside of the transaction that records the event, so a change is stored before it is made, and its event is recorded
   * at least once.
   */
  async finish(member: MemberName, begun: BegunNickname): Promise<void> {
    const { chat, database } = this.#options;
    const found = await chat.member(member.guildId, member.chatId);
    await database.transaction(async (transaction) => {
      if (found?.nickname === begun.to) await this.#report(transaction, member, begun, true);
      else await endNickname(transaction, member, begun);
    });
  }

  /** Records the event of a change; with `isOnce` only if nobody has reported the change meanwhile. */
  async #report(transaction: Transaction, member: MemberName, begun: BegunNickname, isOnce = false): Promise<void> {
    const { guildId, chatId } = member;
    const isUnreported = await endNickname(transaction, member, begun);
    if (begun.from === begun.to || (isOnce && !isUnreported)) return;
    await this.#options.events.nicknameChanged(transaction, guildId, {
      chat_id: chatId,
      from: begun.from,
      to: begun.to,
    });
  }

  /**
   * Returns the nickname of a member by a template; one that is too long is cut, null is none. Throws an error below 500
   * if there is no such nickname.
   */
  async textOf(guildId: string, member: ChatMember, wanted: TemplateForMember): Promise<string | null> {
    return normalized(await this.#fill(guildId, member, wanted), true);
  }

  /** Reads the ranks of users with few calls, so that the nicknames that name them need no call each. */
  async readRanks(links: readonly Link[]): Promise<void> {
    await this.#options.game.ranks(
      links.map(({ gameId }) => gameId),
      [],
    );
  }

  /**
   * Sets the nickname of a member, who must have just been read, if it differs from the current one. Throws an error
   * below 500 if the nickname cannot be set.
   */
  async apply(guildId: string, member: ChatMember, nickname: string | null): Promise<void> {
    const { begun } = await this.#set(guildId, member, { nickname, template: undefined });
    const name = { guildId, chatId: member.chatId };
    if (begun) await this.#options.database.transaction((transaction) => this.#report(transaction, name, begun));
  }

  async #sync(guildId: string, request: NicknameRequest): Promise<Synced> {
    const member = await this.#options.chat.member(guildId, request.chatId);
    if (!member) throw notInGuild();
    return this.#set(guildId, member, request);
  }

  async #set(guildId: string, member: ChatMember, wanted: WantedNickname): Promise<Synced> {
    const { telemetry, database } = this.#options;
    const name = { guildId, chatId: member.chatId };
    const text = wanted.template === undefined ? wanted.nickname : await this.#fill(guildId, member, wanted);
    const to = normalized(text);
    const earlier = await findBegunNickname(database, name);
    const change = { chat_id: member.chatId, from: member.nickname, to };
    const isChanged = to !== member.nickname;
    const isMade = earlier?.to === member.nickname;
    const begun = { from: isMade && earlier ? earlier.from : member.nickname, to };
    if (isChanged) {
      await this.#mayWrite(guildId, member);
      await beginNickname(database, name, { ...begun, source: currentEventSource() ?? null });
      await this.#write(guildId, member.chatId, to);
    }
    telemetry.nicknameSynced(guildId, member.chatId, isChanged);
    return { change, begun: isChanged || isMade ? begun : undefined };
  }

  /** Throws NOT_APPLICABLE if the bot cannot set the member's nickname. */
  async #mayWrite(guildId: string, member: ChatMember): Promise<void> {
    const { chat } = this.#options;
    const { chatId } = member;
    // The bot's permissions are checked before the call, because the chat platform counts rejected requests.
    const [{ ownerId, managesNicknames }, roles] = await Promise.all([chat.standing(guildId), chat.roles(guildId)]);
    if (chatId === ownerId) throw notApplicable('The member owns the guild, and nobody else can change its nickname');
    if (!managesNicknames) throw notApplicable(NOT_PERMITTED);
    if (roles.some(({ id, belowBot }) => member.roles.includes(id) && !belowBot)) {
      throw notApplicable("The member's highest role is not below the bot's");
    }
  }

  async #write(guildId: string, chatId: string, nickname: string | null): Promise<void> {
    const { chat } = this.#options;
    const outcome = await chat.changeNickname({ guildId, chatId, nickname, reason: REASON });
    if (outcome === 'no such member') throw notInGuild();
    if (outcome !== 'done') throw notApplicable(NOT_PERMITTED);
  }

  async #fill(
    guildId: string,
    member: ChatMember,
    { template = '', gameGroupId, link: known, freshness }: WantedNickname,
  ): Promise<string> {
    const values = new Map([['chat_username', member.username]]);
    if (/\{(?:game_username|rank_name)\}/.test(template)) {
      const link = known ?? (await linkOf(this.#options.lookup, guildId, { chatId: member.chatId, gameId: undefined }));
      values.set('game_username', link.gameUsername);
      if (template.includes('{rank_name}')) {
        const groupId = gameGroupId ?? (await this.#groupOf(guildId));
        values.set('rank_name', await this.#rankName(link.gameId, groupId, freshness));
      }
    }
    return template.replaceAll(/\{([^{}]*)\}/g, (field, name: string) => values.get(name) ?? field);
  }

  /** Returns the group of the guild's first rank binding. Throws NOT_APPLICABLE if there is none. */
  async #groupOf(guildId: string): Promise<number> {
    const { bindings } = await this.#options.bindings.listBindings({ guildId });
    for (const { target } of bindings) if (target?.$case === 'groupRank') return target.value.gameGroupId;
    throw notApplicable('No binding of this guild names a group: give game_group_id');
  }

  /** Returns the name of the user's highest role in the group on the game platform. */
  async #rankName(gameId: number, groupId: number, freshness?: Freshness): Promise<string> {
    const { game } = this.#options;
    const [group, ranks] = await Promise.all([
      game.group(groupId, freshness),
      game.ranksIn(gameId, groupId, freshness),
    ]);
    if (!group) {
      throw new ApiError('INVALID_TARGET', {
        message: `The game platform has no group ${groupId}`,
        details: { errors: [{ path: 'body.game_group_id', message: 'is no group of the game platform' }] },
      });
    }
    const highest = Math.max(0, ...ranks);
    return group.roles.find(({ rank }) => rank === highest)?.name ?? NO_RANK;
  }
}

/**
 * Returns the nickname without surrounding spaces, or null if it is empty. If it is too long, it is cut with `isCut`;
 * otherwise throws NOT_APPLICABLE.
 */
function normalized(nickname: string | null | undefined, isCut = false): string | null {
  const text = nickname?.trim() ?? '';
  const characters = Array.from(text);
  if (characters.length <= MAX_CHARACTERS) return text === '' ? null : text;
  if (isCut) return characters.slice(0, MAX_CHARACTERS).join('').trim();
  throw notApplicable(`The nickname "${text}" has more than ${MAX_CHARACTERS} characters`);
}
