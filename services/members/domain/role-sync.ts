import type { Clock } from '#kit/clock.ts';
import { ok } from '#kit/envelope.ts';
import { ApiError, asApiError, isFault } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc-client.ts';
import type { Idempotency, RepeatableWrite, WriteOutcome } from '#kit/idempotency.ts';
import type { Queryable } from '#kit/postgres.ts';
import type { ChatPlatform } from '#platforms/chat.ts';
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
    const { add, remove, failed, unchanged } = await this.#plan(guildId, link.chatId, verdicts);
    return resultOf(link, verdicts, unchanged, { added: add, removed: remove, failed });
  }

  async #sync(guildId: string, account: MemberAccount): Promise<RoleSyncResult> {
    for (let beginning = 0; beginning < MOST_BEGINNINGS; beginning++) {
      const link = await this.#linkOf(guildId, account);
      const verdicts = await this.#evaluate(guildId, link);
      const member = { guildId, chatId: link.chatId };
      const result = await this.#options.locks.hold(member, async (lock) => {
        const now = await this.#linkOf(guildId, { chatId: link.chatId, gameId: undefined });
        return now.version === link.version ? this.#bringInLine(guildId, link, verdicts, lock) : undefined;
      });
      if (result) return result;
    }
    throw new ApiError('UNAVAILABLE', { message: 'The link of this member is being changed, try again soon' });
  }

  async #linkOf(guildId: string, { chatId, gameId }: MemberAccount): Promise<Link> {
    const chatIds = chatId === undefined ? [] : [chatId];
    const gameIds = gameId === undefined ? [] : [gameId];
    const { links } = await this.#options.lookup.getLinks({ guildId, chatIds, gameIds });
    if (links[0]) return links[0];
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

  /** The member is read live; roles are asked for anew where one of a binding is not among those remembered. */
  async #plan(guildId: string, chatId: string, verdicts: readonly RoleVerdict[]): Promise<RolePlan> {
    const { chat, database } = this.#options;
    const [member, remembered, granted] = await Promise.all([
      chat.member(guildId, chatId),
      chat.roles(guildId),
      store.listGrants(database, { guildId, chatId }),
    ]);
    if (!member) throw notInGuild();
    const byRole = new Map(verdicts.map((role) => [role.chatRoleId, verdictOf(role)]));
    const plan = (guildRoles: typeof remembered) =>
      planRoles({ guildRoles, held: member.roles, granted, verdicts: byRole });
    const first = plan(remembered);
    return first.failed.some(({ code }) => code === 'ROLE_UNKNOWN')
      ? plan(await chat.roles(guildId, { fresh: true }))
      : first;
  }

  async #bringInLine(guildId: string, link: Link, verdicts: RoleVerdict[], lock: HeldLock): Promise<RoleSyncResult> {
    const { database, clock, events } = this.#options;
    const member = { guildId, chatId: link.chatId };
    const plan = await this.#plan(guildId, link.chatId, verdicts);
    const changes: Changes = { added: [], removed: [], failed: [...plan.failed] };
    if (plan.forget.length > 0) await store.deleteGrants(database, member, plan.forget);
    // Before it is done, or a role that was given by a process that died would be nobody's.
    if (plan.add.length > 0) await store.insertGrants(database, member, plan.add, new Date(clock.now()));
    for (const roleId of plan.add) await this.#change(member, link.gameId, roleId, true, lock, changes);
    for (const roleId of plan.remove) await this.#change(member, link.gameId, roleId, false, lock, changes);
    events.rolesSynced(guildId, link.chatId, changes);
    return resultOf(link, verdicts, plan.unchanged, changes);
  }

  /** Gives or takes a role, and notes what came of it. */
  async #change(
    member: store.MemberName,
    gameId: number,
    roleId: string,
    give: boolean,
    lock: HeldLock,
    changes: Changes,
  ): Promise<void> {
    const { chat, database } = this.#options;
    await lock.keep();
    const reason = `Guild Data: bindings for game account ${gameId}`;
    const outcome = await chat.changeRole({ ...member, roleId, give, reason }).catch(faultOf);
    if (outcome === 'no such member') throw notInGuild();
    if (outcome === 'done') (give ? changes.added : changes.removed).push(roleId);
    else changes.failed.push({ role_id: roleId, ...failureOf(outcome) });
    // After a fault it may have been done all the same.
    const isSettled = !(outcome instanceof ApiError);
    if (isSettled && give !== (outcome === 'done')) await store.deleteGrants(database, member, [roleId]);
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

const notInGuild = () => new ApiError('NOT_FOUND', { message: 'The account is not in this guild' });
