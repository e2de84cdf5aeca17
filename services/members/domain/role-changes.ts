import type { Clock } from '#kit/clock.ts';
import { ApiError, asApiError, isServerError } from '#kit/errors.ts';
import { currentEventSource } from '#kit/events/source.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { ChatChangeRequest, ChatMember, ChatPlatform } from '#platforms/chat.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { MemberEvents } from '../events.ts';
import { type BegunChanges, beginChanges, endChanges, findBegun } from '../store/role-changes.ts';
import * as store from '../store/roles.ts';
import type { MembersTelemetry } from '../telemetry/members.ts';
import { findLink } from './links.ts';
import { type HeldLock, MemberBusy, type MemberLocks } from './member-locks.ts';
import { notInGuild } from './rejections.ts';
import { type Changes, planRoles, type RoleFailure, type RolePlan } from './role-plan.ts';
import type { Evaluated } from './verdicts.ts';

/** The result of synchronising the roles of one member with the guild's role bindings. */
export interface Done {
  /** IDs of the roles that the member has and keeps, of those roles that the guild's role bindings assign or remove. */
  unchanged: string[];
  changes: Changes;
  /** True if the chat account is not in the guild. */
  isAbsent: boolean;
  /** The member with the roles after the changes; undefined if the chat platform was not called, or knows none. */
  member?: ChatMember;
}

/** Options of a change of roles. */
export interface ChangeOptions {
  /**
   * Only these roles are changed, and the guild's roles may come from the cache. Synchronisation jobs use this.
   */
  only?: ReadonlySet<string>;
  /** If false, roles that could not be changed are reported as events only together with a change. */
  reportsFailures?: boolean;
}

/** What a synchronisation has to report about a member's roles. */
interface Report {
  changes: Changes;
  /** The changes that an earlier synchronisation made and did not report. */
  earlier: BegunChanges;
  /** True if changes of the member are stored that were begun, now or earlier. */
  hasBegun: boolean;
  reportsFailures: boolean;
}

export interface RoleChangesOptions {
  database: Database;
  locks: MemberLocks;
  lookup: GrpcClient<typeof LookupServiceService>;
  chat: ChatPlatform;
  clock: Clock;
  telemetry: MembersTelemetry;
  events: MemberEvents;
}

/** Assigns and removes the roles of one member while holding the member's lock. */
export class RoleChanges {
  readonly #options: RoleChangesOptions;

  constructor(options: RoleChangesOptions) {
    this.#options = options;
  }

  /**
   * Changes a member's roles as the verdicts on them say. A verdict is the result of evaluating the guild's role
   * bindings for the member's link. Returns undefined if the link has changed since the evaluation. Throws MemberBusy
   * if another process still holds the member's lock at the time `until` (as returned by performance.now()).
   */
  applyVerdicts(
    member: store.MemberName,
    link: Link | undefined,
    evaluated: Evaluated,
    until: number,
    options: ChangeOptions = {},
  ): Promise<Done | undefined> {
    const { locks, lookup } = this.#options;
    return locks.hold(member, until, async (lock) => {
      const current = await findLink(lookup, member.guildId, { chatId: member.chatId, gameId: undefined });
      return current?.version === link?.version
        ? this.#applyVerdicts(member, link, evaluated, lock, options)
        : undefined;
    });
  }

  /** Returns the role changes that a synchronisation would make; undefined if the account is not in the guild. */
  async preview(member: store.MemberName, evaluated: Evaluated): Promise<RolePlan | undefined> {
    const granted = await store.listGrants(this.#options.database, member);
    return (await this.#plan(member, evaluated, { granted, isVerified: true }))?.plan;
  }

  /**
   * Plans a member's role changes, and returns the member as it is now. The member is read without a cache.
   * The guild's roles are reloaded if the role of a role binding is not among the cached ones.
   */
  async #plan(
    { guildId, chatId }: store.MemberName,
    evaluated: Evaluated,
    state: { granted: readonly string[]; isVerified: boolean },
    mayReload = true,
  ): Promise<{ plan: RolePlan; found: ChatMember } | undefined> {
    const { chat } = this.#options;
    const [member, cachedRoles] = await Promise.all([chat.member(guildId, chatId), chat.roles(guildId)]);
    if (!member) return undefined;
    const plan = (guildRoles: typeof cachedRoles) =>
      planRoles({ guildRoles, held: member.roles, ...state, ...evaluated });
    const first = plan(cachedRoles);
    const isStale = mayReload && first.failed.some(({ code }) => code === 'ROLE_UNKNOWN');
    return { plan: isStale ? plan(await chat.roles(guildId, { fresh: true })) : first, found: member };
  }

  /**
   * Changes the roles and reports the changes. The chat platform is outside of the transaction that records the event,
   * so the changes are stored before they are made. If the process dies in between, the next synchronisation of the
   * member finds them, and reports those that were made; a worker starts it after some seconds. So every change is
   * reported at least once.
   */
  async #applyVerdicts(
    member: store.MemberName,
    link: Link | undefined,
    evaluated: Evaluated,
    lock: HeldLock,
    { only, reportsFailures = true }: ChangeOptions,
  ): Promise<Done> {
    const { database, telemetry } = this.#options;
    const changes: Changes = { added: [], removed: [], failed: [] };
    const [all, begun] = await Promise.all([store.listGrants(database, member), findBegun(database, member)]);
    const granted = only ? all.filter((roleId) => only.has(roleId)) : all;
    // The usual case after an unlink: no synchronisation has assigned a role to the member, and no binding is about members
    // without a game account, so there is nothing to change, and the chat platform need not be called.
    const isIdle = granted.length === 0 && !begun;
    if (!link && isIdle && !concernsMember(evaluated)) return { unchanged: [], changes, isAbsent: false };
    const state = { granted, isVerified: link !== undefined };
    const planned = await this.#plan(member, evaluated, state, only === undefined);
    if (!planned) {
      await store.deleteGrantsOfAbsent(database, member);
      if (begun) await endChanges(database, member);
      return { unchanged: [], changes, isAbsent: true };
    }
    const { plan, found } = planned;
    changes.failed.push(...plan.failed);
    const earlier = madeChanges(begun, found.roles);
    if (plan.forget.length + plan.add.length > 0) await lock.renew();
    if (plan.forget.length > 0) await store.deleteGrants(database, member, plan.forget);
    const isChanging = plan.add.length + plan.remove.length > 0;
    if (isChanging) await this.#begin(member, plan, earlier);
    const reason = link ? `Guild Data: bindings for game account ${link.gameId}` : 'Guild Data: no longer verified';
    for (const roleId of plan.add) await this.#change({ ...member, roleId, give: true, reason }, lock, changes);
    for (const roleId of plan.remove) await this.#change({ ...member, roleId, give: false, reason }, lock, changes);
    await this.#report(member, link, {
      changes,
      earlier,
      hasBegun: isChanging || begun !== undefined,
      reportsFailures,
    });
    telemetry.rolesSynced(member.guildId, member.chatId, changes);
    const roles = [...found.roles.filter((roleId) => !changes.removed.includes(roleId)), ...changes.added];
    return { unchanged: plan.unchanged, changes, isAbsent: false, member: { ...found, roles } };
  }

  /**
   * Stores the changes that will be made, with the grants of the roles to assign: otherwise a role that a killed process
   * assigned would never be removed.
   */
  #begin(member: store.MemberName, { add, remove, grant }: RolePlan, earlier: BegunChanges): Promise<void> {
    const { database, clock } = this.#options;
    const added = [...new Set([...earlier.added, ...add])];
    const removed = [...new Set([...earlier.removed, ...remove])];
    const begun = { added, removed, granted: grant, source: currentEventSource() ?? null };
    return beginChanges(database, member, begun, new Date(clock.now()));
  }

  /**
   * Records the event of a synchronisation, and deletes the stored changes that it reports. A fault of the chat platform
   * is reported as a failure, although the role may have been changed.
   */
  async #report(
    { guildId, chatId }: store.MemberName,
    link: Link | undefined,
    { changes, earlier, hasBegun, reportsFailures }: Report,
  ): Promise<void> {
    const { database, events } = this.#options;
    const { added, removed, failed } = changes;
    const isEarlier = (roleId: string) => !added.includes(roleId) && !removed.includes(roleId);
    const all = {
      added: [...earlier.added.filter(isEarlier), ...added],
      removed: [...earlier.removed.filter(isEarlier), ...removed],
      failed,
    };
    const isReported = all.added.length + all.removed.length > 0 || (reportsFailures && failed.length > 0);
    if (!isReported && !hasBegun) return;
    await database.transaction(async (transaction) => {
      await endChanges(transaction, { guildId, chatId });
      const synced = { guildId, chatId, gameId: link?.gameId ?? null, changes: all };
      if (isReported) await events.rolesChanged(transaction, [synced]);
    });
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

/** True if the verdicts may change roles of a member to whom no synchronisation has assigned any. */
const concernsMember = ({ verdicts, rules }: Evaluated): boolean =>
  [...verdicts].some(([roleId, verdict]) => verdict === 'wanted' || rules.get(roleId)?.authority === 'own');

/** Returns those changes that were begun and also made, as the roles show that the member has now. */
const madeChanges = (begun: BegunChanges | undefined, held: readonly string[]): BegunChanges => ({
  added: begun?.added.filter((roleId) => held.includes(roleId)) ?? [],
  removed: begun?.removed.filter((roleId) => !held.includes(roleId)) ?? [],
});

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
