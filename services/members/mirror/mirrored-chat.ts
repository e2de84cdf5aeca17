import { performance } from 'node:perf_hooks';
import { asApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { DeadlineError, within } from '#kit/resilience/deadline.ts';
import { SingleFlight } from '#kit/resilience/single-flight.ts';
import type {
  ChatChange,
  ChatChangeRequest,
  ChatMember,
  ChatMemberPage,
  ChatPlatform,
  ChatRole,
  ChatStanding,
} from '#platforms/chat.ts';
import * as store from '../store/mirror-reads.ts';
import type { MemberName } from '../store/roles.ts';
import type { MirrorTelemetry } from '../telemetry/mirror.ts';
import { MirroredGuilds } from './mirrored-guilds.ts';

/** How long a read that may be old waits for the platform, in milliseconds, if the mirror has an old row. */
const MAX_WAIT_MS = 1_000;
/** The calls of such reads that may be waiting at once; with more the old row is used without a call. */
const MAX_REFRESHES = 200;

export interface MirroredChatOptions {
  chat: ChatPlatform;
  database: Queryable;
  /** True if the installation uses the chat platform's websocket, which keeps the mirror current. */
  hasGateway: boolean;
  /** How old a member may be for a read with `mayBeOld` without the websocket; 0 for no such reads. */
  ttlSeconds: number;
  /** How old a member may be for a read with `mayBeOld` while the platform cannot be called. */
  maxOldSeconds: number;
  telemetry: MirrorTelemetry;
}

const NOTHING: store.FoundMember = { guild: undefined, member: undefined, version: null };

/**
 * The chat platform with a mirror: while the websocket keeps a guild current, its roles and its members that were read
 * before take no call. All other reads call the platform, and members that were read are stored.
 */
export class MirroredChat implements ChatPlatform {
  readonly #options: MirroredChatOptions;
  readonly #guilds: MirroredGuilds;
  readonly #refreshes = new SingleFlight<ChatMember | null>();
  #refreshing = 0;

  constructor(options: MirroredChatOptions) {
    this.#options = options;
    this.#guilds = new MirroredGuilds(options.database);
  }

  async roles(guildId: string, { fresh = false, mayBeOld = false } = {}): Promise<ChatRole[]> {
    const facts = fresh ? undefined : await this.#facts(guildId, mayBeOld);
    return facts?.roles ?? this.#options.chat.roles(guildId, { fresh });
  }

  async standing(guildId: string, { fresh = false } = {}): Promise<ChatStanding> {
    const facts = fresh ? undefined : await this.#facts(guildId);
    return facts?.standing ?? this.#options.chat.standing(guildId, { fresh });
  }

  async member(guildId: string, chatId: string, { mayBeOld = false } = {}): Promise<ChatMember | null> {
    const { hasGateway, ttlSeconds, chat, telemetry } = this.#options;
    if (!hasGateway && ttlSeconds === 0) return chat.member(guildId, chatId);
    const name = { guildId, chatId };
    const found = await this.#find(name);
    const { guild, member } = found;
    if (guild?.isLive && guild.botId === chatId) return null;
    const isCurrent = guild?.isLive === true && member?.isOfEpoch === true;
    if (member && (isCurrent || (mayBeOld && member.isRecent))) {
      telemetry.read('mirror');
      if (!member.isUsed) void store.markMemberUsed(this.#options.database, name).catch(() => undefined);
      return this.#toMember(guildId, guild, member);
    }
    return mayBeOld ? this.#readOrOld(name, found) : this.#read(name, found);
  }

  members(guildId: string, after: string, options?: { fresh?: boolean }): Promise<ChatMemberPage> {
    return this.#options.chat.members(guildId, after, options);
  }

  search(guildId: string, text: string, limit: number): Promise<ChatMember[]> {
    return this.#options.chat.search(guildId, text, limit);
  }

  changeRole(change: ChatChangeRequest & { roleId: string; give: boolean }): Promise<ChatChange> {
    const { roleId, give } = change;
    return this.#change(change, { roleId, give }, () => this.#options.chat.changeRole(change));
  }

  changeNickname(change: ChatChangeRequest & { nickname: string | null }): Promise<ChatChange> {
    const { nickname } = change;
    return this.#change(change, { nickname }, () => this.#options.chat.changeNickname(change));
  }

  /** The row of the member keeps the old timeout until the platform reports the new one. */
  changeTimeout(change: ChatChangeRequest & { until: Date | null }): Promise<ChatChange> {
    return this.#options.chat.changeTimeout(change);
  }

  /** Returns the roles of a guild and the bot's rights if the mirror is current, or if they may be old. */
  async #facts(guildId: string, mayBeOld = false) {
    const { database, hasGateway, telemetry, maxOldSeconds } = this.#options;
    if (!hasGateway) return undefined;
    try {
      const guild = await store.findGuild(database, guildId, maxOldSeconds);
      if (guild && !guild.isUsed) await store.markGuildUsed(database, guildId);
      if (!guild || !(guild.isLive || (mayBeOld && guild.isUsable))) return undefined;
      const facts = await this.#guilds.facts(guildId, guild);
      if (facts) telemetry.read(guild.isLive ? 'mirror' : 'old');
      return facts;
    } catch (error) {
      telemetry.notRead(error);
      return undefined;
    }
  }

  /** Returns what the mirror has; nothing while the database is down. */
  async #find(name: MemberName): Promise<store.FoundMember> {
    const { database, ttlSeconds, maxOldSeconds, telemetry } = this.#options;
    try {
      const ages = { maxAgeSeconds: ttlSeconds, usableSeconds: maxOldSeconds };
      const found = await store.findMember(database, name, ages);
      // Before the call: from now on events about the guild's members are stored, so that none is missed meanwhile.
      if (found.guild && !found.guild.isUsed) await store.markGuildUsed(database, name.guildId);
      return found;
    } catch (error) {
      telemetry.notRead(error);
      return NOTHING;
    }
  }

  /** Reads a member from the platform, and stores the result for later reads. */
  async #read(name: MemberName, { guild, version }: store.FoundMember): Promise<ChatMember | null> {
    const { chat, database, telemetry } = this.#options;
    const startedAt = performance.now();
    telemetry.read('platform');
    const member = await chat.member(name.guildId, name.chatId);
    const epoch = guild?.isLive ? guild.epoch : null;
    // The member is returned even if it cannot be stored; the next read then calls the platform again.
    if (member) {
      const ageMs = performance.now() - startedAt;
      await store.storeRead(database, name.guildId, member, { epoch, version, ageMs }).catch(() => undefined);
    } else if (version !== null) await store.deleteRead(database, name, version).catch(() => undefined);
    return member;
  }

  /**
   * Reads a member. If the platform cannot be called in time, for example because many members have to be read again
   * after a gap in the websocket, an old row is returned, and the call goes on for the reads after this one.
   */
  async #readOrOld(name: MemberName, found: store.FoundMember): Promise<ChatMember | null> {
    const { guildId, chatId } = name;
    const { guild, member } = found;
    const old = member?.isUsable ? await this.#toMember(guildId, guild, member) : undefined;
    if (old && this.#refreshing >= MAX_REFRESHES) return this.#old(old);
    const reading = this.#refreshes.run(`${guildId} ${chatId}`, async () => {
      this.#refreshing += 1;
      return this.#read(name, found).finally(() => {
        this.#refreshing -= 1;
      });
    });
    if (!old) return reading;
    try {
      return await within(MAX_WAIT_MS, reading);
    } catch (error) {
      const isOutage = error instanceof DeadlineError || ['UNAVAILABLE', 'TIMEOUT'].includes(asApiError(error).code);
      if (!isOutage) throw error;
      return this.#old(old);
    }
  }

  #old(member: ChatMember): ChatMember {
    this.#options.telemetry.read('old');
    return member;
  }

  /** Makes a change on the platform and then in the mirror, so that the next read does not show the state before. */
  async #change(
    { guildId, chatId }: MemberName,
    change: Parameters<typeof store.storeOwnChange>[3],
    make: () => Promise<ChatChange>,
  ): Promise<ChatChange> {
    const { database, hasGateway, ttlSeconds } = this.#options;
    if (!hasGateway && ttlSeconds === 0) return make();
    const name = { guildId, chatId };
    const version = await store.findVersion(database, name).catch(() => undefined);
    const outcome = await make();
    if (outcome === 'done' && version !== undefined)
      await store.storeOwnChange(database, name, version, change).catch(() => undefined);
    return outcome;
  }

  /**
   * Returns a mirrored member without the roles that the guild does not have any more: the platform reports a deleted role
   * once, and not for each of its members.
   */
  async #toMember(
    guildId: string,
    guild: store.MirroredGuild | undefined,
    { chatId, username, nickname, roles, joinedAt, timeoutUntil }: store.MirroredMember,
  ): Promise<ChatMember> {
    const facts = guild && (await this.#guilds.facts(guildId, guild).catch(() => undefined));
    const held = facts ? roles.filter((roleId) => facts.roleIds.has(roleId)) : roles;
    return { chatId, username, nickname, roles: held, joinedAt, timeoutUntil };
  }
}
