import type { Clock } from '#kit/clock.ts';
import { ok } from '#kit/envelope.ts';
import { ApiError, asApiError, isFault } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc-client.ts';
import type { Idempotency, RepeatableWrite, WriteOutcome } from '#kit/idempotency.ts';
import type { Queryable } from '#kit/postgres.ts';
import type { ChatChangeRequest, ChatPlatform } from '#platforms/chat.ts';
import { type BindingsServiceService, type RoleVerdict, Verdict } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { MembersEvents } from '../events.ts';
import * as store from '../store/roles.ts';
import type { HeldLock, MemberLocks } from './member-locks.ts';
import { planRoles, type RoleFailure, type RolePlan } from './role-plan.ts';

/** How often a sync begins anew because the member was linked anew meanwhile. */
const MOST_BEGINNINGS = 3;

/** One of the two. */
export interface MemberAccount {
  chatId: string | undefined;
  gameId: number | undefined;
}

export interface RoleSyncResult {
  chat_id: string;
  game_id: number;
  added: string[];
  removed: string[];
  unchanged: string[];
  failed: RoleFailure[];
  nickname: null;
  bindings: { evaluated: number; matched: number; unknown: number };
}

type Changes = Pick<RoleSyncResult, 'added' | 'removed' | 'failed'>;

/** What was done to a member, or that it is not in the guild. */
interface Done {
  unchanged: string[];
  changes: Changes;
  isAbsent: boolean;
}

export interface RoleSyncOptions {
  database: Queryable;
  idempotency: Idempotency;
  locks: MemberLocks;
  lookup: GrpcClient<typeof LookupServiceService>;
  bindings: GrpcClient<typeof BindingsServiceService>;
  chat: ChatPlatform;
  clock: Clock;
  events: MembersEvents;
}

/** Brings members' roles in line with the bindings. */
export class RoleSync {
  readonly #options: RoleSyncOptions;

  constructor(options: RoleSyncOptions) {
    this.#options = options;
  }

  /** NOT_FOUND for who is not verified or not in the guild. A dry run says what would be done, as far as is known. */
  sync(write: RepeatableWrite, account: MemberAccount, dryRun: boolean): Promise<WriteOutcome<RoleSyncResult>> {
    const { guildId } = write;
    return this.#options.idempotency.afterPreparing(
      write,
      () => (dryRun ? this.#preview(guildId, account) : this.#sync(guildId, account)),
      async (_, result) => ok(result),
    );
  }

  async #preview(guildId: string, account: MemberAccount): Promise<RoleSyncResult> {
    const link = await this.#linkOf(guildId, account);
    const verdicts = await this.#evaluate(guildId, link);
    const member = { guildId, chatId: link.chatId };
    const plan = await this.#plan(member, verdicts, await store.listGrants(this.#options.database, member));
    if (!plan) throw notInGuild();
    const { add, remove, failed, unchanged } = plan;
    return resultOf(link, verdicts, unchanged, { added: add, removed: remove, failed });
  }

  /**
   * After a change of a member's link: linked, its roles follow the bindings; not linked, what was given is taken back.
   * UNAVAILABLE and the like where that has to be tried again; who is not in the guild has nothing to lose.
   */
  async follow(member: store.MemberName): Promise<void> {
    const { guildId, chatId } = member;
    for (let beginning = 0; beginning < MOST_BEGINNINGS; beginning++) {
      const link = await this.#findLink(guildId, { chatId, gameId: undefined });
      const verdicts = link ? await this.#evaluate(guildId, link) : [];
      const done = await this.#underLock(member, link, verdicts);
      if (done?.changes.failed.some(({ code }) => code === 'PLATFORM_ERROR')) throw new ApiError('PLATFORM_ERROR');
      if (done) return;
    }
    throw changing();
  }

  async #sync(guildId: string, account: MemberAccount): Promise<RoleSyncResult> {
    for (let beginning = 0; beginning < MOST_BEGINNINGS; beginning++) {
      const link = await this.#linkOf(guildId, account);
      const verdicts = await this.#evaluate(guildId, link);
      const done = await this.#underLock({ guildId, chatId: link.chatId }, link, verdicts);
      if (done?.isAbsent) throw notInGuild();
      if (done) return resultOf(link, verdicts, done.unchanged, done.changes);
    }
    throw changing();
  }

  /** Undefined when the link is another by now. */
  #underLock(member: store.MemberName, link: Link | undefined, verdicts: RoleVerdict[]): Promise<Done | undefined> {
    return this.#options.locks.hold(member, async (lock) => {
      const now = await this.#findLink(member.guildId, { chatId: member.chatId, gameId: undefined });
      return now?.version === link?.version ? this.#bringInLine(member, link, verdicts, lock) : undefined;
    });
  }

  async #findLink(guildId: string, { chatId, gameId }: MemberAccount): Promise<Link | undefined> {
    const chatIds = chatId === undefined ? [] : [chatId];
    const gameIds = gameId === undefined ? [] : [gameId];
    const { links } = await this.#options.lookup.getLinks({ guildId, chatIds, gameIds });
    return links[0];
  }

  async #linkOf(guildId: string, account: MemberAccount): Promise<Link> {
    const link = await this.#findLink(guildId, account);
    if (link) return link;
    throw new ApiError('NOT_FOUND', { message: 'The user is not verified in this guild' });
  }

  /** What the bindings say of every role that they govern. */
  async #evaluate(guildId: string, { chatId, gameId }: Link): Promise<RoleVerdict[]> {
    const request = { guildId, members: [{ chatId, gameId }], chatRoleIds: [], rolesOnly: false };
    const { members } = await this.#options.bindings.evaluate(request);
    const [verdicts] = members;
    // Without verdicts every role that was given would seem unwanted.
    if (verdicts?.chatId !== chatId) throw new ApiError('INTERNAL', { cause: new Error('no verdicts on the member') });
    return verdicts.roles;
  }

  /**
   * Undefined for who is not in the guild. The member is read live; roles are asked for anew where one of a binding is
   * not among those remembered.
   */
  async #plan(
    { guildId, chatId }: store.MemberName,
    verdicts: readonly RoleVerdict[],
    granted: readonly string[],
  ): Promise<RolePlan | undefined> {
    const { chat } = this.#options;
    const [member, remembered] = await Promise.all([chat.member(guildId, chatId), chat.roles(guildId)]);
    if (!member) return undefined;
    const byRole = new Map(verdicts.map((role) => [role.chatRoleId, verdictOf(role)]));
    const plan = (guildRoles: typeof remembered) =>
      planRoles({ guildRoles, held: member.roles, granted, verdicts: byRole });
    const first = plan(remembered);
    return first.failed.some(({ code }) => code === 'ROLE_UNKNOWN')
      ? plan(await chat.roles(guildId, { fresh: true }))
      : first;
  }

  async #bringInLine(
    member: store.MemberName,
    link: Link | undefined,
    verdicts: RoleVerdict[],
    lock: HeldLock,
  ): Promise<Done> {
    const { database, clock, events } = this.#options;
    const changes: Changes = { added: [], removed: [], failed: [] };
    const granted = await store.listGrants(database, member);
    // After most unlinks: nothing was given, and nobody has to be asked.
    if (!link && granted.length === 0) return { unchanged: [], changes, isAbsent: false };
    const plan = await this.#plan(member, verdicts, granted);
    if (!plan) {
      await store.deleteGrants(database, member, granted);
      return { unchanged: [], changes, isAbsent: true };
    }
    changes.failed.push(...plan.failed);
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
    await lock.keep();
    const outcome = await chat.changeRole(change).catch(faultOf);
    if (outcome === 'no such member') throw notInGuild();
    if (outcome === 'done') (give ? changes.added : changes.removed).push(roleId);
    else changes.failed.push({ role_id: roleId, ...failureOf(outcome) });
    // After a fault it may have been done all the same.
    const isSettled = !(outcome instanceof ApiError);
    if (isSettled && give !== (outcome === 'done')) await store.deleteGrants(database, change, [roleId]);
  }
}

/** What can't be told is unknown. */
function verdictOf({ verdict }: { verdict: Verdict }): 'wanted' | 'not wanted' | 'unknown' {
  if (verdict === Verdict.VERDICT_WANTED) return 'wanted';
  return verdict === Verdict.VERDICT_NOT_WANTED ? 'not wanted' : 'unknown';
}

/** A fault of the platform becomes a value; all else is thrown on. */
function faultOf(thrown: unknown): ApiError {
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

function resultOf(link: Link, verdicts: RoleVerdict[], unchanged: string[], changes: Changes): RoleSyncResult {
  const all = verdicts.flatMap(({ bindings }) => bindings.map(verdictOf));
  return {
    chat_id: link.chatId,
    game_id: link.gameId,
    ...changes,
    unchanged,
    nickname: null,
    bindings: {
      evaluated: all.length,
      matched: all.filter((verdict) => verdict === 'wanted').length,
      unknown: all.filter((verdict) => verdict === 'unknown').length,
    },
  };
}

const changing = () =>
  new ApiError('UNAVAILABLE', { message: 'The link of this member is being changed, try again soon' });
const notInGuild = () => new ApiError('NOT_FOUND', { message: 'The account is not in this guild' });
