import { z } from 'zod';
import { ApiError } from '#kit/errors.ts';
import { LoadingCache } from '#kit/resilience/cache.ts';
import type {
  ChatChange,
  ChatChangeRequest,
  ChatMember,
  ChatMemberPage,
  ChatPlatform,
  ChatRole,
  ChatStanding,
} from '../chat.ts';
import type { PlatformAnswer } from '../http/host.ts';
import { DiscordApi, type DiscordCall, type DiscordOptions, isShutOut } from './api.ts';
import { isNoMember, memberAnswer, readChange, snowflake, viewMember } from './members.ts';
import { rolesAnswer, viewRoles } from './roles.ts';
import { guildAnswer, viewStanding } from './standing.ts';

const GUILD_KEPT_MS = 60_000;
const MOST_GUILDS = 1_000;
const PAGE = 1_000;
const PAGES_KEPT_MS = 10_000;
const MOST_PAGES = 50;
/** Of a page: 1,000 members with up to 250 roles each. */
const PAGE_BYTES = 8 * 1024 * 1024;

const userAnswer = z.object({ id: snowflake });
const botAnswer = z.object({ roles: z.array(snowflake) });
const pageAnswer = z.array(memberAnswer);

/** Discord's REST API, version 10, as its documentation described it in August 2026. */
export class Discord implements ChatPlatform {
  readonly #api: DiscordApi;
  readonly #botId: LoadingCache<string>;
  /** null where the bot is not in the guild, which is worth remembering: the platform counts calls that it refuses. */
  readonly #roles: LoadingCache<ChatRole[] | null>;
  readonly #standings: LoadingCache<ChatStanding | null>;
  readonly #pages: LoadingCache<ChatMemberPage>;

  constructor(options: DiscordOptions) {
    const { clock } = options;
    this.#api = new DiscordApi(options);
    this.#botId = new LoadingCache({ ttlMs: Infinity, max: 1, clock, load: () => this.#loadBotId() });
    this.#roles = new LoadingCache({
      ttlMs: GUILD_KEPT_MS,
      max: MOST_GUILDS,
      clock,
      load: (id) => this.#loadRoles(id),
    });
    this.#standings = new LoadingCache({
      ttlMs: GUILD_KEPT_MS,
      max: MOST_GUILDS,
      clock,
      load: (id) => this.#loadStanding(id),
    });
    this.#pages = new LoadingCache({
      ttlMs: PAGES_KEPT_MS,
      max: MOST_PAGES,
      clock,
      load: (key) => this.#loadPage(...(key.split(' ') as [string, string])),
    });
  }

  async roles(guildId: string, { fresh = false } = {}): Promise<ChatRole[]> {
    const roles = await (fresh ? this.#roles.reload(guildId) : this.#roles.get(guildId));
    if (roles !== null) return roles;
    throw shutOut(guildId);
  }

  async standing(guildId: string): Promise<ChatStanding> {
    const standing = await this.#standings.get(guildId);
    if (standing !== null) return standing;
    throw shutOut(guildId);
  }

  async member(guildId: string, chatId: string): Promise<ChatMember | null> {
    if (chatId === (await this.#botId.get(''))) return null;
    const answer = await this.#askMember(guildId, chatId);
    if (isNoMember(answer)) return null;
    if (isShutOut(answer)) throw shutOut(guildId);
    return viewMember(this.#api.host.expect(answer, memberAnswer));
  }

  members(guildId: string, after: string, { fresh = false } = {}): Promise<ChatMemberPage> {
    const key = `${guildId} ${after}`;
    return fresh ? this.#pages.reload(key) : this.#pages.get(key);
  }

  changeRole({ roleId, give, ...member }: ChatChangeRequest & { roleId: string; give: boolean }): Promise<ChatChange> {
    const { guildId } = member;
    return this.#change(member, `/roles/${roleId}`, {
      method: give ? 'PUT' : 'DELETE',
      limit: `roles of members of ${guildId}`,
      // The bot's right to a role is the same for all members.
      refusedTogether: `role ${roleId} of ${guildId}`,
    });
  }

  changeNickname({ nickname, ...member }: ChatChangeRequest & { nickname: string | null }): Promise<ChatChange> {
    const { guildId, chatId } = member;
    return this.#change(member, '', {
      method: 'PATCH',
      body: { nick: nickname },
      limit: `nicknames of ${guildId}`,
      refusedTogether: `nickname of ${chatId} in ${guildId}`,
    });
  }

  async #change(member: ChatChangeRequest, path: string, call: Omit<DiscordCall, 'guildId'>): Promise<ChatChange> {
    const { guildId, chatId, reason, atLast } = member;
    const options = { ...call, guildId, reason, ...(atLast && { atLast }) };
    const answer = await this.#api.call(`/guilds/${guildId}/members/${chatId}${path}`, options);
    if (answer.status === 404 && isShutOut(answer)) throw shutOut(guildId);
    const change = readChange(answer);
    if (change === undefined) throw this.#api.host.misunderstood(answer);
    return change;
  }

  async #loadBotId(): Promise<string> {
    const answer = await this.#api.call('/users/@me', { guildId: '', limit: 'self' });
    return this.#api.host.expect(answer, userAnswer).id;
  }

  async #loadRoles(guildId: string): Promise<ChatRole[] | null> {
    const botId = await this.#botId.get('');
    const [roles, bot] = await Promise.all([
      this.#api.call(`/guilds/${guildId}/roles`, { guildId, limit: `roles of ${guildId}` }),
      this.#askMember(guildId, botId),
    ]);
    if (isShutOut(roles) || isShutOut(bot) || isNoMember(bot)) return null;
    const { host } = this.#api;
    return viewRoles(guildId, host.expect(roles, rolesAnswer), host.expect(bot, botAnswer).roles);
  }

  async #loadStanding(guildId: string): Promise<ChatStanding | null> {
    const botId = await this.#botId.get('');
    const limit = `guild ${guildId}`;
    const [guild, bot] = await Promise.all([
      this.#api.call(`/guilds/${guildId}`, { guildId, limit, refusedTogether: limit }),
      this.#askMember(guildId, botId),
    ]);
    if (isShutOut(guild) || isShutOut(bot) || isNoMember(bot)) return null;
    const { host } = this.#api;
    const { roles } = host.expect(bot, botAnswer);
    return viewStanding(guildId, host.expect(guild, guildAnswer), { id: botId, roles });
  }

  #askMember(guildId: string, chatId: string): Promise<PlatformAnswer> {
    const limit = `members of ${guildId}`;
    return this.#api.call(`/guilds/${guildId}/members/${chatId}`, { guildId, limit, refusedTogether: limit });
  }

  async #loadPage(guildId: string, after: string): Promise<ChatMemberPage> {
    const botId = await this.#botId.get('');
    const limit = `list of members of ${guildId}`;
    const path = `/guilds/${guildId}/members?limit=${PAGE}&after=${after}`;
    const answer = await this.#api.call(path, { guildId, limit, refusedTogether: limit, mostBytes: PAGE_BYTES });
    if (isShutOut(answer)) throw shutOut(guildId, ', and give it the intent GUILD_MEMBERS');
    const all = this.#api.host.expect(answer, pageAnswer).map(viewMember);
    const next = all.length < PAGE ? null : (all.at(-1)?.chatId ?? null);
    return { members: all.filter(({ chatId }) => chatId !== botId), next };
  }
}

function shutOut(guildId: string, more = ''): ApiError {
  const message = `The bot is not in the guild ${guildId}, or may not look into it: invite it with the scope "bot"`;
  return new ApiError('PLATFORM_ERROR', { message: message + more });
}
