import type { Clock } from '#kit/clock.ts';
import { failed, type GuildCheck, listed, passed } from '#kit/guild-state/check.ts';
import { LoadingCache } from '#kit/resilience/cache.ts';
import { within } from '#kit/resilience/deadline.ts';
import type { ChatApplication, ChatApplicationState, ChatPlatform } from '#platforms/chat.ts';
import type { GameKey } from '#platforms/game.ts';
import { CHECK_WAIT_MS, outageCheck } from '#platforms/outage-check.ts';
import type { GuildSettings } from '#proto/gen/guild/members/v1/settings.ts';

/** What belongs to the installation is read once a minute for all guilds. */
const INSTALLATION_TTL_MS = 60_000;
const DAY_MS = 24 * 3600 * 1000;
/** A key that expires sooner than this is a failed check. */
const KEY_WARNING_DAYS = 7;

const MEMBERS_FIX =
  'Ask the operator of this installation to switch on Server Members Intent on the page of the bot in the developer portal of the chat platform.';

export interface PlatformChecksOptions {
  chat: Pick<ChatPlatform, 'standing'>;
  application: Pick<ChatApplication, 'read'>;
  /** Reads what the game platform reports about the operator's key; null if the installation has no key. */
  readKey: () => Promise<GameKey | null>;
  settingsOf: (guildId: string) => Promise<GuildSettings>;
  /** Whether the chat platform's websocket keeps a guild current; undefined if the installation does not use it. */
  isWatched: ((guildId: string) => Promise<boolean>) | undefined;
  clock: Clock;
}

/** A right of the operator's key that a setting of a guild needs. */
interface NeededRight {
  scope: string;
  operation: string;
  universeId?: number;
  /** The right as the game platform shows it. */
  name: string;
}

/** Checks what the platforms allow the installation, as far as the settings of a guild need it. */
export class PlatformChecks {
  readonly #options: PlatformChecksOptions;
  readonly #applications: LoadingCache<ChatApplicationState>;
  readonly #keys: LoadingCache<GameKey | null>;

  constructor(options: PlatformChecksOptions) {
    const { application, readKey, clock } = options;
    this.#options = options;
    const ofInstallation = { ttlMs: INSTALLATION_TTL_MS, max: 1, clock };
    this.#applications = new LoadingCache({ ...ofInstallation, load: () => application.read() });
    this.#keys = new LoadingCache({ ...ofInstallation, load: readKey });
  }

  /** Returns the checks of the chat platform. Call it only if the bot is in the guild. */
  async ofChat(guildId: string): Promise<GuildCheck[]> {
    const { chat, isWatched, settingsOf } = this.#options;
    try {
      const [application, settings] = await within(
        CHECK_WAIT_MS,
        Promise.all([this.#applications.get(''), settingsOf(guildId)]),
      );
      const checks = [membersCheck(application)];
      if (isWatched) checks.push(watchCheck(await isWatched(guildId)));
      const { mirrorTimeouts, inviteChannelId, oauthJoin } = settings;
      const bringsMembers = inviteChannelId !== undefined || oauthJoin;
      if (!mirrorTimeouts && !bringsMembers) return checks;
      const { timesOutMembers, createsInvites } = await within(CHECK_WAIT_MS, chat.standing(guildId));
      if (mirrorTimeouts) checks.push(timeoutCheck(timesOutMembers));
      if (bringsMembers) checks.push(inviteCheck(createsInvites));
      return checks;
    } catch (error) {
      return [outageCheck('chat_platform', error)];
    }
  }

  /** Returns the checks of the operator's key for the game platform. */
  async ofGame(guildId: string): Promise<GuildCheck[]> {
    try {
      const [key, settings] = await within(
        CHECK_WAIT_MS,
        Promise.all([this.#keys.get(''), this.#options.settingsOf(guildId)]),
      );
      const needed = rightsFor(settings);
      if (!key) return needed.length === 0 ? [] : [noKey];
      const validity = this.#validity(key);
      return validity.isOk && needed.length > 0 ? [validity, rightsCheck(key, needed)] : [validity];
    } catch (error) {
      return [outageCheck('game_platform', error)];
    }
  }

  #validity({ isValid, expiresAt }: GameKey): GuildCheck {
    if (!isValid) {
      return failed(
        'game_platform_key',
        'The key of this installation for the game platform is disabled, expired or unknown.',
        'Ask the operator of this installation to enable the key on the page of credentials of the game platform, or to set a new one. A key that is not used for 60 days expires by itself.',
      );
    }
    const days = expiresAt === null ? null : Math.floor((expiresAt - this.#options.clock.now()) / DAY_MS);
    if (days !== null && days < KEY_WARNING_DAYS) {
      return failed(
        'game_platform_key',
        `The key of this installation for the game platform expires in ${days} days.`,
        'Ask the operator of this installation to extend its expiration on the page of credentials of the game platform.',
      );
    }
    return passed('game_platform_key', 'The key of this installation for the game platform is valid.');
  }
}

const noKey = failed(
  'game_platform_key',
  'The settings of the guild need a key for the game platform, and this installation has none.',
  'Ask the operator of this installation to set GAME_API_KEY, or switch off the mirror of bans and pushed commands in the settings of the guild.',
);

function membersCheck({ receivesMembers }: ChatApplicationState): GuildCheck {
  if (receivesMembers) return passed('bot_receives_members', 'The bot may receive the members of guilds.');
  return failed('bot_receives_members', 'The bot may not receive the members of guilds.', MEMBERS_FIX);
}

function watchCheck(isWatched: boolean): GuildCheck {
  if (isWatched) return passed('chat_websocket', 'Changes of members arrive over the websocket of the chat platform.');
  return failed(
    'chat_websocket',
    'Changes of members do not arrive over the websocket of the chat platform at the moment.',
    'Check again in a minute. If it lasts, tell the operator of this installation that the websocket is not connected for this guild.',
  );
}

function timeoutCheck(isPermitted: boolean): GuildCheck {
  if (isPermitted) return passed('bot_times_out_members', 'The bot has the permission Timeout Members.');
  return failed(
    'bot_times_out_members',
    'The settings of the guild mirror timeouts, and the bot does not have the permission Timeout Members.',
    'In the settings of the guild, under Roles, switch on Timeout Members for the role of the bot.',
  );
}

function inviteCheck(isPermitted: boolean): GuildCheck {
  if (isPermitted) return passed('bot_creates_invites', 'The bot has the permission Create Invite.');
  return failed(
    'bot_creates_invites',
    'The settings of the guild let linked users join, and the bot does not have the permission Create Invite.',
    'In the settings of the guild, under Roles, switch on Create Invite for the role of the bot.',
  );
}

/** The rights that the settings of a guild need. */
function rightsFor({ mirrorBansUniverseIds, pushCommands }: GuildSettings): NeededRight[] {
  const restrictions = mirrorBansUniverseIds.flatMap((universeId) =>
    ['read', 'write'].map((operation) => ({
      scope: 'universe.user-restriction',
      operation,
      universeId,
      name: `universe.user-restriction:${operation} for the universe ${universeId}`,
    })),
  );
  const scope = 'universe-messaging-service';
  const messages = pushCommands ? [{ scope, operation: 'publish', name: `${scope}:publish` }] : [];
  return [...restrictions, ...messages];
}

function rightsCheck(key: GameKey, needed: readonly NeededRight[]): GuildCheck {
  const missing = needed.filter(({ scope, operation, universeId }) => !key.allows(scope, operation, universeId));
  if (missing.length === 0) {
    return passed('game_platform_rights', 'The key for the game platform may do what the settings of the guild need.');
  }
  return failed(
    'game_platform_rights',
    `The key for the game platform lacks ${listed(missing.map(({ name }) => name))}.`,
    'Ask the operator of this installation to add these permissions to the key on the page of credentials of the game platform.',
  );
}
