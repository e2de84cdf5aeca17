import { unixSeconds } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, IdempotentWrite, WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { ChatInvite, ChatInviteRejection, ChatInvites } from '#platforms/chat.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { MemberEvents } from '../events.ts';
import { findSettings } from '../store/guild-settings.ts';
import { beginInvite, endInvite, findRecentInvite, type StoredInvite } from '../store/role-invites.ts';
import type { MemberName } from '../store/roles.ts';
import type { JoinTelemetry } from '../telemetry/joins.ts';
import { type JoiningRoles, type JoiningRolesOptions, joiningRoles } from './joining-roles.ts';
import { linkOf, type MemberAccount } from './links.ts';
import { MemberLocks } from './member-locks.ts';
import { notApplicable } from './rejections.ts';

/** How long an invite is valid, in seconds: it is meant for a player who waits for it. */
const MAX_AGE_SECONDS = 3_600;
/** Within this time the same invite is returned again, so that impatient players do not use up the platform's limits. */
const REPEAT_SECONDS = 60;

export interface InviteView {
  chat_id: string;
  /** null for a member, who needs no invite. */
  url: string | null;
  role_ids: string[];
  expires_at: number | null;
}

export interface RoleInvitesOptions extends JoiningRolesOptions {
  database: Database;
  idempotency: Idempotency;
  locks: MemberLocks;
  lookup: GrpcClient<typeof LookupServiceService>;
  invites: ChatInvites;
  events: MemberEvents;
  telemetry: JoinTelemetry;
}

/** An invite that exists, and whether this request created it. */
type Prepared = { view: InviteView; isNew: boolean };

/** Creates invites with which linked accounts join the guild and get the roles that the bindings give them. */
export class RoleInvites {
  readonly #options: RoleInvitesOptions;

  constructor(options: RoleInvitesOptions) {
    this.#options = options;
  }

  /**
   * Creates an invite that only the linked chat account can accept. A member needs none. Throws NOT_FOUND if the account is
   * not linked, and NOT_APPLICABLE if the guild or the chat platform allows no invites.
   */
  create(write: IdempotentWrite, account: MemberAccount): Promise<WriteOutcome<InviteView>> {
    const { idempotency, events } = this.#options;
    return idempotency.afterPreparing(
      write,
      () => this.#prepare(write.guildId, account),
      async (transaction, { view, isNew }) => {
        const { chat_id, role_ids, expires_at } = view;
        if (isNew) await events.inviteCreated(transaction, write.guildId, { chat_id, role_ids, expires_at });
        return ok(view);
      },
    );
  }

  async #prepare(guildId: string, account: MemberAccount): Promise<Prepared> {
    const { database, lookup, locks, chat, telemetry } = this.#options;
    const { inviteChannelId: channelId } = await findSettings(database, guildId);
    if (channelId === undefined) throw notApplicable('Set invite_channel_id in the settings of the guild first');
    const link = await linkOf(lookup, guildId, account);
    const member = { guildId, chatId: link.chatId };
    // With the lock, two requests for one account do not create two invites.
    return locks.hold(member, MemberLocks.patience(), async (lock) => {
      if (await chat.member(guildId, link.chatId)) {
        telemetry.inviteRequested(member, 'member');
        return {
          view: { chat_id: link.chatId, url: null, role_ids: [], expires_at: null },
          isNew: false,
        };
      }
      const roles = await joiningRoles(this.#options, guildId, link);
      const terms = { channelId, roleIds: roles.roleIds };
      const recent = await findRecentInvite(database, member, terms, REPEAT_SECONDS);
      if (!recent) await lock.renew();
      const invite = recent ?? (await this.#create(member, channelId, roles));
      telemetry.inviteRequested(member, recent ? 'repeated' : 'created');
      return { view: viewOf(member, roles, invite), isNew: !recent };
    });
  }

  async #create(member: MemberName, channelId: string, { roleIds, granted }: JoiningRoles): Promise<StoredInvite> {
    const { database, invites, telemetry } = this.#options;
    const maxAgeSeconds = MAX_AGE_SECONDS;
    await beginInvite(database, member, { channelId, roleIds, granted, maxAgeSeconds });
    const reason = 'Guild Data: invite of a verified player';
    const created = await invites.createInvite({ ...member, channelId, roleIds, maxAgeSeconds, reason });
    if (typeof created === 'string') {
      telemetry.inviteRequested(member, 'rejected');
      throw notApplicable(REJECTIONS[created]);
    }
    return { url: created.url, expiresAt: await endInvite(database, member, created satisfies ChatInvite) };
  }
}

const REJECTIONS: Record<ChatInviteRejection, string> = {
  'no such channel': 'The guild has no channel with the ID in invite_channel_id that the bot can see',
  'no such role': 'A role of a binding no longer exists in the guild',
  'no such account': 'The chat platform does not accept this account for an invite',
  'not permitted': 'The bot lacks the permission Create Invite in the channel, or Manage Roles',
  'too many invites': 'The guild has as many invites as the chat platform allows',
};

const viewOf = ({ chatId }: MemberName, { roleIds }: JoiningRoles, { url, expiresAt }: StoredInvite): InviteView => ({
  chat_id: chatId,
  url,
  role_ids: roleIds,
  expires_at: unixSeconds(expiresAt),
});
