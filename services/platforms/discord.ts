import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { LoadingCache } from '#kit/cache.ts';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { ChatPlatform, ChatRole } from './chat.ts';
import type { ChatPlatformConfig } from './config.ts';
import { type PlatformAnswer, PlatformHost, type PlatformOptions } from './http.ts';

const ROLES_KEPT_MS = 60_000;
const MOST_GUILDS = 1_000;
/**
 * How long we keep still after our token was refused. The platform bans an address that makes 10,000 refused calls in
 * ten minutes.
 */
const REFUSED_MS = 600_000;

const snowflake = z.string().regex(/^[0-9]{1,20}$/);
const roleAnswer = z.object({
  id: snowflake,
  name: z.string(),
  position: z.int(),
  managed: z.boolean(),
  /** Deprecated in favour of `colors`. */
  color: z.int().optional(),
  colors: z.object({ primary_color: z.int() }).optional(),
});
const rolesAnswer = z.array(roleAnswer);
const userAnswer = z.object({ id: snowflake });
const memberAnswer = z.object({ roles: z.array(snowflake) });

type Role = z.output<typeof roleAnswer>;

export interface DiscordOptions extends PlatformOptions {
  config: ChatPlatformConfig;
  log: Logger;
}

/** Discord's REST API, version 10, as its documentation described it in August 2026. */
export class Discord implements ChatPlatform {
  readonly #host: PlatformHost;
  readonly #headers: Record<string, string>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #botId: LoadingCache<string>;
  /** null where the bot is not in the guild, which is worth remembering: the platform counts calls that it refuses. */
  readonly #roles: LoadingCache<ChatRole[] | null>;
  #refusedUntil = 0;

  constructor({ config, log, ...options }: DiscordOptions) {
    const { clock } = options;
    this.#host = new PlatformHost({ ...options, name: 'chat', platform: 'chat platform', url: config.CHAT_API_URL });
    this.#headers = {
      authorization: `Bot ${config.CHAT_BOT_TOKEN}`,
      // Who comes with another form may be turned away.
      'user-agent': `DiscordBot (${config.CHAT_BOT_URL}, ${packageJson.version})`,
    };
    this.#clock = clock;
    this.#log = log;
    this.#botId = new LoadingCache({ ttlMs: Infinity, max: 1, clock, load: () => this.#loadBotId() });
    this.#roles = new LoadingCache({
      ttlMs: ROLES_KEPT_MS,
      max: MOST_GUILDS,
      clock,
      load: (id) => this.#loadRoles(id),
    });
  }

  async roles(guildId: string, { fresh = false } = {}): Promise<ChatRole[]> {
    const roles = await (fresh ? this.#roles.reload(guildId) : this.#roles.get(guildId));
    if (roles !== null) return roles;
    const message = `The bot is not in the guild ${guildId}, or may not look into it: invite it with the scope "bot"`;
    throw new ApiError('PLATFORM_ERROR', { message });
  }

  async #loadBotId(): Promise<string> {
    const answer = await this.#get('/users/@me', 'self');
    return this.#host.expect(answer, userAnswer).id;
  }

  async #loadRoles(guildId: string): Promise<ChatRole[] | null> {
    const botId = await this.#botId.get('');
    const [roles, bot] = await Promise.all([
      this.#get(`/guilds/${guildId}/roles`, `roles of ${guildId}`),
      this.#get(`/guilds/${guildId}/members/${botId}`, `members of ${guildId}`),
    ]);
    if (isRefused(roles) || isRefused(bot)) return null;
    return viewRoles(guildId, this.#host.expect(roles, rolesAnswer), this.#host.expect(bot, memberAnswer).roles);
  }

  /** GET with our token; once that is refused nothing is called for ten minutes. */
  async #get(path: string, limit: string): Promise<PlatformAnswer> {
    this.#keepStill();
    const answer = await this.#host.get(path, { headers: this.#headers, limit });
    if (answer.status !== 401) return answer;
    if (this.#clock.now() >= this.#refusedUntil) {
      this.#log.error('The chat platform refuses CHAT_BOT_TOKEN: set a valid one and restart');
      this.#refusedUntil = this.#clock.now() + REFUSED_MS;
    }
    throw this.#refusal();
  }

  #keepStill(): void {
    if (this.#clock.now() < this.#refusedUntil) throw this.#refusal();
  }

  #refusal(): ApiError {
    const retryAfter = (this.#refusedUntil - this.#clock.now()) / 1000;
    return new ApiError('UNAVAILABLE', { message: 'The chat platform refuses the bot', retryAfter });
  }
}

/** Codes 50001 (missing access), 10004 (unknown guild), 10007 (unknown member: the bot itself). */
function isRefused({ status, body }: PlatformAnswer): boolean {
  const code = z.object({ code: z.number() }).safeParse(body).data?.code;
  return (status === 403 && code === 50001) || (status === 404 && (code === 10004 || code === 10007));
}

/** The highest first, without @everyone, whose ID is the guild's. */
function viewRoles(guildId: string, roles: readonly Role[], botRoles: readonly string[]): ChatRole[] {
  const sorted = roles.filter(({ id }) => id !== guildId).sort(highestFirst);
  const highest = sorted.findIndex(({ id }) => botRoles.includes(id));
  return sorted.map(({ id, name, position, managed, color, colors }, index) => ({
    id,
    name,
    position,
    color: colors?.primary_color ?? color ?? 0,
    managed,
    assignable: !managed && highest !== -1 && index > highest,
  }));
}

/** Of two roles in one position the older one, whose ID is the lower, stands above. */
function highestFirst(left: Role, right: Role): number {
  return right.position - left.position || Number(BigInt(left.id) - BigInt(right.id));
}
