import type { Clock } from '#kit/clock.ts';
import { ApiError, asApiError, isServerError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { ChatChangeRequest, ChatPlatform } from '#platforms/chat.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import * as store from '../store/roles.ts';
import type { MembersTelemetry } from '../telemetry/members.ts';
import { type HeldLock, MemberBusy, type MemberLocks } from './member-locks.ts';
import { planRoles, type RoleFailure, type RolePlan, type RoleVerdicts } from './role-plan.ts';

/** A member, identified by the chat account or by the game account. */
export interface MemberAccount {
  chatId: string | undefined;
  gameId: number | undefined;
}

/** The changes made to a member's roles: IDs of assigned and removed roles, and the roles that could not be changed. */
export interface Changes {
  added: string[];
  removed: string[];
  failed: RoleFailure[];
}

/** The result of synchronising the roles of one member with the guild's role bindings. */
export interface Done {
  /** IDs of the roles that the member has and keeps, of those roles that the guild's role bindings assign or remove. */
  unchanged: string[];
  changes: Changes;
  /** True if the chat account is not in the guild. */
  isAbsent: boolean;
}

export interface RoleChangesOptions {
  database: Queryable;
  locks: MemberLocks;
  lookup: GrpcClient<typeof LookupServiceService>;
  chat: ChatPlatform;
  clock: Clock;
  telemetry: MembersTelemetry;
}

/** Assigns and removes the roles of one member while holding the member's lock. */
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
   * Changes a member's roles as the verdicts on them say. A verdict is the result of evaluating the guild's role
   * bindings for the member's link. Returns undefined if the link has changed since the evaluation. Synchronisation
   * jobs set `only`: then only these roles are changed, and the list of the guild's roles may come from the cache.
   * Throws MemberBusy if another process still holds the member's lock at the time `until` (as returned by
   * performance.now()).
   */
  applyVerdicts(
    member: store.MemberName,
    link: Link | undefined,
    verdicts: RoleVerdicts,
    until: number,
    only?: ReadonlySet<string>,
  ): Promise<Done | undefined> {
    return this.#options.locks.hold(member, until, async (lock) => {
      const current = await this.findLink(member.guildId, { chatId: member.chatId, gameId: undefined });
      return current?.version === link?.version ? this.#applyVerdicts(member, link, verdicts, lock, only) : undefined;
    });
  }

  /** Returns the role changes that a synchronisation would make; undefined if the account is not in the guild. */
  async preview(member: store.MemberName, verdicts: RoleVerdicts): Promise<RolePlan | undefined> {
    return this.#plan(member, verdicts, await store.listGrants(this.#options.database, member));
  }

  /**
   * Plans a member's role changes. The member is read without a cache. The guild's roles are reloaded if the role of a
   * role binding is not among the cached ones.
   */
  async #plan(
    { guildId, chatId }: store.MemberName,
    verdicts: RoleVerdicts,
    granted: readonly string[],
    mayReload = true,
  ): Promise<RolePlan | undefined> {
    const { chat } = this.#options;
    const [member, cachedRoles] = await Promise.all([chat.member(guildId, chatId), chat.roles(guildId)]);
    if (!member) return undefined;
    const plan = (guildRoles: typeof cachedRoles) => planRoles({ guildRoles, held: member.roles, granted, verdicts });
    const first = plan(cachedRoles);
    return mayReload && first.failed.some(({ code }) => code === 'ROLE_UNKNOWN')
      ? plan(await chat.roles(guildId, { fresh: true }))
      : first;
  }

  async #applyVerdicts(
    member: store.MemberName,
    link: Link | undefined,
    verdicts: RoleVerdicts,
    lock: HeldLock,
    only: ReadonlySet<string> | undefined,
  ): Promise<Done> {
    const { database, clock, telemetry } = this.#options;
    const changes: Changes = { added: [], removed: [], failed: [] };
    const all = await store.listGrants(database, member);
    const granted = only ? all.filter((roleId) => only.has(roleId)) : all;
    // This is the usual case after an unlink. A synchronisation has assigned no role to the member, so there is none to
    // remove, and the chat platform need not be called.
    if (!link && granted.length === 0) return { unchanged: [], changes, isAbsent: false };
    const plan = await this.#plan(member, verdicts, granted, only === undefined);
    if (!plan) {
      await store.deleteGrants(database, member, granted);
      return { unchanged: [], changes, isAbsent: true };
    }
    changes.failed.push(...plan.failed);
    if (plan.forget.length + plan.add.length > 0) await lock.renew();
    if (plan.forget.length > 0) await store.deleteGrants(database, member, plan.forget);
    // The IDs of assigned roles are stored before the roles are assigned. Otherwise a role that was assigned by a
    // process which was killed immediately afterwards would never be removed.
    if (plan.add.length > 0) await store.insertGrants(database, member, plan.add, new Date(clock.now()));
    const reason = link ? `Guild Data: bindings for game account ${link.gameId}` : 'Guild Data: no longer verified';
    for (const roleId of plan.add) await this.#change({ ...member, roleId, give: true, reason }, lock, changes);
    for (const roleId of plan.remove) await this.#change({ ...member, roleId, give: false, reason }, lock, changes);
    telemetry.rolesSynced(member.guildId, member.chatId, changes);
    return { unchanged: plan.unchanged, changes, isAbsent: false };
  }

  /** Assigns or removes a role, and adds the outcome to `changes`. */
  async #change(
    change: ChatChangeRequest & { roleId: string; give: boolean },
    lock: HeldLock,
    changes: Changes,
  ): Promise<void> {
    const { chat, database } = this.#options;
    const { roleId, give } = change;
    const outcome = await chat.changeRole({ ...change, beforeCall: () => lock.renew() }).catch(faultOf);
    if (outcome === 'no such member') throw notInGuild();
    if (outcome === 'done') (give ? changes.added : changes.removed).push(roleId);
    else changes.failed.push({ role_id: roleId, ...failureOf(outcome) });
    // After an error of the chat platform the role may have been assigned all the same, so it stays stored as assigned.
    const isHeld = give ? outcome === 'done' : outcome === 'not permitted';
    if (!(outcome instanceof ApiError) && !isHeld) await store.deleteGrants(database, change, [roleId]);
  }
}

/** Returns the error if the chat platform caused it. Rethrows every other error, for example the loss of the lock. */
function faultOf(thrown: unknown): ApiError {
  if (thrown instanceof MemberBusy) throw thrown;
  const error = asApiError(thrown);
  if (isServerError(error) && error.code !== 'INTERNAL') return error;
  throw error;
}

function failureOf(outcome: 'no such role' | 'not permitted' | ApiError): Pick<RoleFailure, 'code' | 'message'> {
  if (outcome instanceof ApiError) return { code: 'PLATFORM_ERROR', message: outcome.message };
  return outcome === 'no such role'
    ? { code: 'ROLE_UNKNOWN', message: 'The role no longer exists in the guild' }
    : { code: 'MISSING_PERMISSION', message: 'The bot lacks the permission to manage this role' };
}

export const notInGuild = () => new ApiError('NOT_FOUND', { message: 'The account is not in this guild' });
