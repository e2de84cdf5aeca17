import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { ChatJoin, ChatJoins, ChatMember } from '#platforms/chat.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { MemberEvents } from '../events.ts';
import { findSettings } from '../store/guild-settings.ts';
import { deleteGrants, insertGrants, type MemberName } from '../store/roles.ts';
import type { JoinTelemetry } from '../telemetry/joins.ts';
import type { AutomaticNicknames } from './automatic-nicknames.ts';
import { type JoiningRoles, type JoiningRolesOptions, joiningRoles } from './joining-roles.ts';
import { linkOf } from './links.ts';
import { type HeldLock, MemberLocks } from './member-locks.ts';
import { notApplicable } from './rejections.ts';
import type { RoleTasks } from './role-tasks.ts';

/** A person who allows the bot's application to add the account to a guild. */
export interface JoiningPerson extends MemberName {
  username: string;
  accessToken: string;
}

export interface OAuthJoinsOptions extends JoiningRolesOptions {
  database: Database;
  locks: MemberLocks;
  lookup: GrpcClient<typeof LookupServiceService>;
  joins: ChatJoins;
  nicknames: Pick<AutomaticNicknames, 'textsOf'>;
  roleTasks: Pick<RoleTasks, 'queueAll'>;
  events: MemberEvents;
  telemetry: JoinTelemetry;
}

/**
 * Adds linked accounts to guilds, with the roles and the nickname that the bindings give, with the permission that the person
 * gives the bot's application. Only linked accounts, because the page is open to everybody.
 */
export class OAuthJoins {
  readonly #options: OAuthJoinsOptions;

  constructor(options: OAuthJoinsOptions) {
    this.#options = options;
  }

  /** Throws NOT_APPLICABLE if the settings of the guild do not let persons join. */
  async check(guildId: string): Promise<void> {
    const { oauthJoin } = await findSettings(this.#options.database, guildId);
    if (!oauthJoin) throw notApplicable('This guild does not let players join here');
  }

  /** Adds an account. Returns false if it was in the guild already; then its roles are synchronised. */
  async add(person: JoiningPerson): Promise<boolean> {
    const { locks, lookup, telemetry } = this.#options;
    const { guildId, chatId } = person;
    await this.check(guildId);
    const link = await linkOf(lookup, guildId, { chatId, gameId: undefined });
    const outcome = await locks.hold({ guildId, chatId }, MemberLocks.patience(), (lock) =>
      this.#add(person, link, lock),
    );
    telemetry.joinFinished({ guildId, chatId }, outcome);
    if (outcome === 'joined' || outcome === 'is member') return outcome === 'joined';
    throw notApplicable(REJECTIONS[outcome]);
  }

  async #add(person: JoiningPerson, link: Link, lock: HeldLock): Promise<ChatJoin> {
    const { chat, joins, database } = this.#options;
    const { guildId, chatId, accessToken } = person;
    // Checked before the call, because the platform counts rejected requests.
    const { createsInvites, managesNicknames } = await chat.standing(guildId);
    if (!createsInvites) return 'not permitted';
    const roles = await joiningRoles(this.#options, guildId, link);
    const nickname = managesNicknames ? await this.#nickname(person, link, roles) : undefined;
    const granted = await insertGrants(database, { guildId, chatId }, roles.granted);
    // Without this, a synchronisation could take back roles that others gave a member.
    const gaveNothing = () => deleteGrants(database, { guildId, chatId }, granted);
    let isSent = false;
    const outcome = await joins
      .addMember({
        guildId,
        chatId,
        accessToken,
        roleIds: roles.roleIds,
        nickname,
        reason: `Guild Data: joined as game account ${link.gameId}`,
        beforeCall: async () => {
          await lock.renew();
          isSent = true;
        },
      })
      .catch(async (error: unknown) => {
        if (!isSent) await gaveNothing();
        throw error;
      });
    if (outcome !== 'joined') await gaveNothing();
    if (outcome === 'joined' || outcome === 'is member') await this.#report(person, link, { roles, outcome });
    return outcome;
  }

  /** Returns the nickname; undefined if there is none, or a platform fails: the role task then sets it. */
  async #nickname({ guildId, chatId, username }: JoiningPerson, link: Link, { nickname }: JoiningRoles) {
    const member: ChatMember = { chatId, username, nickname: null, roles: [], joinedAt: null, timeoutUntil: null };
    const named = { link, member, nickname, isRejected: false };
    const [text] = await this.#options.nicknames.textsOf(guildId, [named], { skipsFailures: true });
    return text ?? undefined;
  }

  /**
   * Queues a synchronisation, which does the rest: for a member everything, and otherwise roles about which the game platform
   * could not tell.
   */
  async #report(
    { guildId, chatId }: MemberName,
    { gameId }: Link,
    { roles, outcome }: { roles: JoiningRoles; outcome: ChatJoin },
  ): Promise<void> {
    const { database, events, roleTasks } = this.#options;
    const changes = { added: outcome === 'joined' ? roles.roleIds : [], removed: [], failed: [] };
    await database.transaction(async (transaction) => {
      // The task before the event, as the websocket's report of this join does: in the other order both would deadlock.
      await roleTasks.queueAll(transaction, guildId, [chatId], 'join');
      await events.rolesChanged(transaction, [{ guildId, chatId, gameId, changes }]);
    });
  }
}

const REJECTIONS: Record<Exclude<ChatJoin, 'joined' | 'is member'>, string> = {
  'no such role': 'A role of a binding no longer exists in the guild',
  'not permitted': 'The bot lacks the permission Create Invite or Manage Roles',
  'not allowed by the person': 'The chat platform does not accept the permission of the person, start again',
  'too many guilds': 'The account is in as many guilds as the chat platform allows',
  banned: 'The account is banned from the guild',
};
