import type { Clock } from '#kit/clock.ts';
import { ApiError, asApiError, isFault } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { ChatChangeRequest, ChatPlatform } from '#platforms/chat.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import * as store from '../store/roles.ts';
import type { MembersEvents } from '../telemetry/members.ts';
import { type HeldLock, MemberBusy, type MemberLocks } from './member-locks.ts';
import { planRoles, type RoleFailure, type RolePlan, type RoleVerdicts } from './role-plan.ts';

/** One of the two. */
export interface MemberAccount {
  chatId: string | undefined;
  gameId: number | undefined;
}

/** What was given, taken, and neither; roles are IDs. */
export interface Changes {
  added: string[];
  removed: string[];
  failed: RoleFailure[];
}

/** What was done to a member, or that it is not in the guild. */
export interface Done {
  unchanged: string[];
  changes: Changes;
  isAbsent: boolean;
}

export interface RoleChangesOptions {
  database: Queryable;
  locks: MemberLocks;
  lookup: GrpcClient<typeof LookupServiceService>;
  chat: ChatPlatform;
  clock: Clock;
  events: MembersEvents;
}

/** Gives and takes the roles of one member, under its lock. */
export class RoleChanges {
  readonly #options: RoleChangesOptions;

  constructor(options: RoleChangesOptions) {
    this.#options = options;
  }

  async findLink(guildId: string, { chatId, gameId }: MemberAccount): Promise<Link | undefined> {
    const chatIds = chatId === undefined ? [] : [chatId];
    const gameIds = gameId === undefined ? [] : [gameId];
    const { links } = await this.#options.lookup.getLinks({ guildId, chatIds, gameIds });
    return links[0];
  }

  /**
   * Brings a member in line with verdicts that were made for a link; undefined when the link is another by now. With
   * `only`, as in jobs, no other roles are touched, and the guild's roles are not asked for anew. MemberBusy when
   * others change the member's roles until `until` (performance.now()).
   */
  bringInLine(
    member: store.MemberName,
    link: Link | undefined,
    verdicts: RoleVerdicts,
    until: number,
    only?: ReadonlySet<string>,
  ): Promise<Done | undefined> {
    return this.#options.locks.hold(member, until, async (lock) => {
      const now = await this.findLink(member.guildId, { chatId: member.chatId, gameId: undefined });
      return now?.version === link?.version ? this.#bringInLine(member, link, verdicts, lock, only) : undefined;
    });
  }

  /** What would be done; undefined for who is not in the guild. */
  async preview(member: store.MemberName, verdicts: RoleVerdicts): Promise<RolePlan | undefined> {
    return this.#plan(member, verdicts, await store.listGrants(this.#options.database, member));
  }

  /** The member is read live; roles are asked for anew where one of a binding is not among those remembered. */
  async #plan(
    { guildId, chatId }: store.MemberName,
    verdicts: RoleVerdicts,
    granted: readonly string[],
    mayReload = true,
  ): Promise<RolePlan | undefined> {
    const { chat } = this.#options;
    const [member, remembered] = await Promise.all([chat.member(guildId, chatId), chat.roles(guildId)]);
    if (!member) return undefined;
    const plan = (guildRoles: typeof remembered) => planRoles({ guildRoles, held: member.roles, granted, verdicts });
    const first = plan(remembered);
    return mayReload && first.failed.some(({ code }) => code === 'ROLE_UNKNOWN')
      ? plan(await chat.roles(guildId, { fresh: true }))
      : first;
  }

  async #bringInLine(
    member: store.MemberName,
    link: Link | undefined,
    verdicts: RoleVerdicts,
    lock: HeldLock,
    only: ReadonlySet<string> | undefined,
  ): Promise<Done> {
    const { database, clock, events } = this.#options;
    const changes: Changes = { added: [], removed: [], failed: [] };
    const all = await store.listGrants(database, member);
    const granted = only ? all.filter((roleId) => only.has(roleId)) : all;
    // After most unlinks: nothing was given, and nobody has to be asked.
    if (!link && granted.length === 0) return { unchanged: [], changes, isAbsent: false };
    const plan = await this.#plan(member, verdicts, granted, only === undefined);
    if (!plan) {
      await store.deleteGrants(database, member, granted);
      return { unchanged: [], changes, isAbsent: true };
    }
    changes.failed.push(...plan.failed);
    if (plan.forget.length + plan.add.length > 0) await lock.keep();
    if (plan.forget.length > 0) await store.deleteGrants(database, member, plan.forget);
    // Before it is done, or a role that was given by a process that died would be nobody's.
    if (plan.add.length > 0) await store.insertGrants(database, member, plan.add, new Date(clock.now()));
    const reason = link ? `Guild Data: bindings for game account ${link.gameId}` : 'Guild Data: no longer verified';
    for (const roleId of plan.add) await this.#change({ ...member, roleId, give: true, reason }, lock, changes);
    for (const roleId of plan.remove) await this.#change({ ...member, roleId, give: false, reason }, lock, changes);
    events.rolesSynced(member.guildId, member.chatId, changes);
    return { unchanged: plan.unchanged, changes, isAbsent: false };
  }

  /** Gives or takes a role, and notes what came of it. */
  async #change(
    change: ChatChangeRequest & { roleId: string; give: boolean },
    lock: HeldLock,
    changes: Changes,
  ): Promise<void> {
    const { chat, database } = this.#options;
    const { roleId, give } = change;
    const outcome = await chat.changeRole({ ...change, beforeCall: () => lock.keep() }).catch(faultOf);
    if (outcome === 'no such member') throw notInGuild();
    if (outcome === 'done') (give ? changes.added : changes.removed).push(roleId);
    else changes.failed.push({ role_id: roleId, ...failureOf(outcome) });
    // After a fault it may have been done all the same.
    const isHeld = give ? outcome === 'done' : outcome === 'not permitted';
    if (!(outcome instanceof ApiError) && !isHeld) await store.deleteGrants(database, change, [roleId]);
  }
}

/** A fault of the platform becomes a value; all else is thrown on, as when the lock was lost. */
function faultOf(thrown: unknown): ApiError {
  if (thrown instanceof MemberBusy) throw thrown;
  const error = asApiError(thrown);
  if (isFault(error) && error.code !== 'INTERNAL') return error;
  throw error;
}

function failureOf(outcome: 'no such role' | 'not permitted' | ApiError): Pick<RoleFailure, 'code' | 'message'> {
  if (outcome instanceof ApiError) return { code: 'PLATFORM_ERROR', message: outcome.message };
  return outcome === 'no such role'
    ? { code: 'ROLE_UNKNOWN', message: 'The guild has no such role any more' }
    : { code: 'MISSING_PERMISSION', message: 'The bot lacks the permission to manage this role' };
}

export const notInGuild = () => new ApiError('NOT_FOUND', { message: 'The account is not in this guild' });
