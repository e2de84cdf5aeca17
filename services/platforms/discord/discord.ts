import { z } from 'zod';
import { LoadingCache } from '#kit/resilience/cache.ts';
import {
  BotNotInGuild,
  type ChatChange,
  type ChatChangeRequest,
  type ChatInvite,
  type ChatInviteRejection,
  type ChatInviteRequest,
  type ChatInvites,
  type ChatJoin,
  type ChatJoinRequest,
  type ChatJoins,
  type ChatMember,
  type ChatMemberPage,
  type ChatPlatform,
  type ChatRole,
  type ChatStanding,
} from '../chat.ts';
import type { PlatformResponse } from '../http/host.ts';
import { DiscordApi, type DiscordCall, type DiscordOptions } from './api.ts';
import { DiscordApplication } from './application.ts';
import { lacksGuildAccess } from './errors.ts';
import { type GatewayInfo, readGatewayInfo } from './gateway/info.ts';
import { channelSchema, inviteForm, inviteRejection, inviteSchema, toChatInvite } from './invites.ts';
import { joinCall, joinOutcome } from './joins.ts';
import { changeOutcome, isNoMember, memberSchema, snowflake, toChatMember } from './members.ts';
import { rolesSchema, toChatRoles } from './roles.ts';
import { guildSchema, toChatStanding } from './standing.ts';
import { timeoutCall } from './timeouts.ts';

const GUILD_TTL_MS = 60_000;
const MAX_CACHED_GUILDS = 1_000;
const PAGE_SIZE = 1_000;
const PAGE_TTL_MS = 10_000;
const MAX_CACHED_PAGES = 50;
/** The maximum size of a page of members in bytes, enough for 1,000 members with up to 250 roles each. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

const userSchema = z.object({ id: snowflake });
const botSchema = z.object({ roles: z.array(snowflake) });
const pageSchema = z.array(memberSchema);

/** Implements ChatPlatform with Discord's REST API, version 10, as documented in August 2026. */
export class Discord implements ChatPlatform, ChatInvites, ChatJoins {
  readonly application: DiscordApplication;
  readonly #api: DiscordApi;
  readonly #botId: LoadingCache<string>;
  /**
   * The cached roles of each guild; null if the bot is not in the guild, which is cached because the platform counts
   * rejected calls.
   */
  readonly #roles: LoadingCache<ChatRole[] | null>;
  readonly #standings: LoadingCache<ChatStanding | null>;
  readonly #pages: LoadingCache<ChatMemberPage>;
  /** The guild of each channel; null for a channel that does not exist, that the bot may not see, or of no guild. */
  readonly #guildOfChannel: LoadingCache<string | null>;

  constructor(options: DiscordOptions) {
    const { clock } = options;
    this.#api = new DiscordApi(options);
    this.application = new DiscordApplication(this.#api);
    this.#botId = new LoadingCache({ ttlMs: Infinity, max: 1, clock, load: () => this.#loadBotId() });
    this.#roles = new LoadingCache({
      ttlMs: GUILD_TTL_MS,
      max: MAX_CACHED_GUILDS,
      clock,
      load: (id) => this.#loadRoles(id),
    });
    this.#standings = new LoadingCache({
      ttlMs: GUILD_TTL_MS,
      max: MAX_CACHED_GUILDS,
      clock,
      load: (id) => this.#loadStanding(id),
    });
    this.#pages = new LoadingCache({
      ttlMs: PAGE_TTL_MS,
      max: MAX_CACHED_PAGES,
      clock,
      load: (key) => this.#loadPage(...(key.split(' ') as [string, string])),
    });
    this.#guildOfChannel = new LoadingCache({
      ttlMs: GUILD_TTL_MS,
      max: MAX_CACHED_GUILDS,
      clock,
      load: (id) => this.#loadGuildOfChannel(id),
    });
  }

  async roles(guildId: string, { fresh = false } = {}): Promise<ChatRole[]> {
    const roles = await (fresh ? this.#roles.reload(guildId) : this.#roles.get(guildId));
    if (roles !== null) return roles;
    throw new BotNotInGuild(guildId);
  }

  async standing(guildId: string, { fresh = false } = {}): Promise<ChatStanding> {
    const standing = await (fresh ? this.#standings.reload(guildId) : this.#standings.get(guildId));
    if (standing !== null) return standing;
    throw new BotNotInGuild(guildId);
  }

  async member(guildId: string, chatId: string): Promise<ChatMember | null> {
    if (chatId === (await this.#botId.get(''))) return null;
    const response = await this.#fetchMember(guildId, chatId);
    if (isNoMember(response)) return null;
    if (lacksGuildAccess(response)) throw new BotNotInGuild(guildId);
    return toChatMember(this.#api.host.expect(response, memberSchema));
  }

  members(guildId: string, after: string, { fresh = false } = {}): Promise<ChatMemberPage> {
    const key = `${guildId} ${after}`;
    return fresh ? this.#pages.reload(key) : this.#pages.get(key);
  }

  async search(guildId: string, text: string, limit: number): Promise<ChatMember[]> {
    const botId = await this.#botId.get('');
    const bucket = `search of members of ${guildId}`;
    // One more than wanted, because the bot may be among them.
    const path = `/guilds/${guildId}/members/search?query=${encodeURIComponent(text)}&limit=${limit + 1}`;
    const response = await this.#api.call(path, { guildId, limit: bucket, rejectionKey: bucket });
    if (lacksGuildAccess(response)) throw new BotNotInGuild(guildId);
    const found = this.#api.host.expect(response, pageSchema).map(toChatMember);
    return found.filter(({ chatId }) => chatId !== botId).slice(0, limit);
  }

  changeRole({ roleId, give, ...member }: ChatChangeRequest & { roleId: string; give: boolean }): Promise<ChatChange> {
    const { guildId } = member;
    return this.#change(member, `/roles/${roleId}`, {
      method: give ? 'PUT' : 'DELETE',
      limit: `roles of members of ${guildId}`,
      // A bot that may not assign a role to one member may not assign it to any other, so all these calls share a
      // rejection key.
      rejectionKey: `role ${roleId} of ${guildId}`,
    });
  }

  changeNickname({ nickname, ...member }: ChatChangeRequest & { nickname: string | null }): Promise<ChatChange> {
    const { guildId, chatId } = member;
    return this.#change(member, '', {
      method: 'PATCH',
      body: { nick: nickname },
      limit: `nicknames of ${guildId}`,
      rejectionKey: `nickname of ${chatId} in ${guildId}`,
    });
  }

  changeTimeout({ until, ...member }: ChatChangeRequest & { until: Date | null }): Promise<ChatChange> {
    return this.#change(member, '', timeoutCall(member.guildId, member.chatId, until));
  }

  /** Creates an invite. A channel of another guild is treated as unknown, because any guild may name any channel. */
  async createInvite(request: ChatInviteRequest): Promise<ChatInvite | ChatInviteRejection> {
    const { guildId, channelId, reason } = request;
    if ((await this.#guildOfChannel.get(channelId)) !== guildId) return 'no such channel';
    const limit = `invites of channel ${channelId}`;
    const options = { method: 'POST', body: inviteForm(request), guildId, limit, reason, rejectionKey: limit } as const;
    const response = await this.#api.call(`/channels/${channelId}/invites`, options);
    return inviteRejection(response) ?? toChatInvite(this.#api.host.expect(response, inviteSchema));
  }

  async addMember(request: ChatJoinRequest): Promise<ChatJoin> {
    const { guildId, chatId } = request;
    const response = await this.#api.call(`/guilds/${guildId}/members/${chatId}`, joinCall(request));
    if (lacksGuildAccess(response)) throw new BotNotInGuild(guildId);
    const outcome = joinOutcome(response);
    if (outcome === undefined) throw this.#api.host.unexpectedResponse(response);
    return outcome;
  }

  /** Returns how the platform's websocket is reached. */
  gatewayInfo(): Promise<GatewayInfo> {
    return readGatewayInfo(this.#api);
  }

  async #change(member: ChatChangeRequest, path: string, call: Omit<DiscordCall, 'guildId'>): Promise<ChatChange> {
    const { guildId, chatId, reason, beforeCall } = member;
    const options = { ...call, guildId, reason, ...(beforeCall && { beforeCall }) };
    const response = await this.#api.call(`/guilds/${guildId}/members/${chatId}${path}`, options);
    if (response.status === 404 && lacksGuildAccess(response)) throw new BotNotInGuild(guildId);
    const change = changeOutcome(response);
    if (change === undefined) throw this.#api.host.unexpectedResponse(response);
    return change;
  }

  async #loadGuildOfChannel(channelId: string): Promise<string | null> {
    const limit = `channel ${channelId}`;
    const response = await this.#api.call(`/channels/${channelId}`, { guildId: '', limit, rejectionKey: limit });
    if (inviteRejection(response)) return null;
    return this.#api.host.expect(response, channelSchema).guild_id ?? null;
  }

  async #loadBotId(): Promise<string> {
    const response = await this.#api.call('/users/@me', { guildId: '', limit: 'self' });
    return this.#api.host.expect(response, userSchema).id;
  }

  async #loadRoles(guildId: string): Promise<ChatRole[] | null> {
    const botId = await this.#botId.get('');
    const [roles, bot] = await Promise.all([
      this.#api.call(`/guilds/${guildId}/roles`, { guildId, limit: `roles of ${guildId}` }),
      this.#fetchMember(guildId, botId),
    ]);
    if (lacksGuildAccess(roles) || lacksGuildAccess(bot) || isNoMember(bot)) return null;
    const { host } = this.#api;
    return toChatRoles(guildId, host.expect(roles, rolesSchema), host.expect(bot, botSchema).roles);
  }

  async #loadStanding(guildId: string): Promise<ChatStanding | null> {
    const botId = await this.#botId.get('');
    const limit = `guild ${guildId}`;
    const [guild, bot] = await Promise.all([
      this.#api.call(`/guilds/${guildId}`, { guildId, limit, rejectionKey: limit }),
      this.#fetchMember(guildId, botId),
    ]);
    if (lacksGuildAccess(guild) || lacksGuildAccess(bot) || isNoMember(bot)) return null;
    const { host } = this.#api;
    const { roles } = host.expect(bot, botSchema);
    return toChatStanding(guildId, host.expect(guild, guildSchema), { id: botId, roles });
  }

  #fetchMember(guildId: string, chatId: string): Promise<PlatformResponse> {
    const limit = `members of ${guildId}`;
    return this.#api.call(`/guilds/${guildId}/members/${chatId}`, { guildId, limit, rejectionKey: limit });
  }

  async #loadPage(guildId: string, after: string): Promise<ChatMemberPage> {
    const botId = await this.#botId.get('');
    const limit = `list of members of ${guildId}`;
    const path = `/guilds/${guildId}/members?limit=${PAGE_SIZE}&after=${after}`;
    const response = await this.#api.call(path, { guildId, limit, rejectionKey: limit, maxBytes: MAX_PAGE_BYTES });
    if (lacksGuildAccess(response)) throw new BotNotInGuild(guildId, ', and enable the intent GUILD_MEMBERS for it');
    const all = this.#api.host.expect(response, pageSchema).map(toChatMember);
    const next = all.length < PAGE_SIZE ? null : (all.at(-1)?.chatId ?? null);
    return { members: all.filter(({ chatId }) => chatId !== botId), next };
  }
}
