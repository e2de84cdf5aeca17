import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, IdempotentWrite, WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { ChatMember } from '#platforms/chat.ts';
import type { BindingsServiceService, RoleVerdict } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { MemberName } from '../store/roles.ts';
import type { MembersTelemetry } from '../telemetry/members.ts';
import { findLink, linkOf, type MemberAccount } from './links.ts';
import { MemberLocks } from './member-locks.ts';
import { notInGuild } from './rejections.ts';
import type { RoleChanges } from './role-changes.ts';
import type { Changes, RoleFailure } from './role-plan.ts';
import {
  type BindingNickname,
  concernsUnverified,
  evaluate,
  evaluatedOf,
  nicknameOf,
  ONLY_SHOWN,
  type VerdictScope,
  verdictOf,
} from './verdicts.ts';

/** The maximum number of starts of a role synchronisation, which starts over if the member's link changed meanwhile. */
export const MAX_STARTS = 3;

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

/** A linked member whose roles follow the role bindings. */
export interface FollowedMember {
  link: Link;
  member: ChatMember;
  /** The nickname of the first binding that matches and has one; `unknown` if it must stay as it is. */
  nickname: BindingNickname | 'unknown' | undefined;
  /** True if the game platform failed to return data that a verdict needs, so that a retry may change more. */
  isIncomplete: boolean;
  /** True if the game platform rejects requests about the member's game account. */
  isRejected: boolean;
}

/** What the bindings say about a member, and the error if the bindings service could not be queried. */
interface Followed {
  verdicts: readonly RoleVerdict[];
  nickname?: BindingNickname | 'unknown' | undefined;
  isIncomplete?: boolean;
  isRejected?: boolean;
  error?: unknown;
}

export interface FollowOptions {
  /** If false, roles that could not be changed are reported as events only together with a change. */
  reportsFailures?: boolean;
  /** If given, ranks must not have been read longer ago than this many milliseconds. */
  maxRankAgeMs?: number | undefined;
}

export interface RoleSyncOptions {
  idempotency: Idempotency;
  lookup: GrpcClient<typeof LookupServiceService>;
  bindings: GrpcClient<typeof BindingsServiceService>;
  changes: RoleChanges;
  telemetry: MembersTelemetry;
}

/** Assigns and removes roles of members on the chat platform as the guild's role bindings say. */
export class RoleSync {
  readonly #options: RoleSyncOptions;

  constructor(options: RoleSyncOptions) {
    this.#options = options;
  }

  /**
   * Synchronises the roles of one member; a dry run only returns the planned changes. Throws NOT_FOUND if the account
   * is not verified or not in the guild.
   */
  sync(
    write: IdempotentWrite,
    account: MemberAccount,
    dryRun: boolean,
  ): Promise<WriteOutcome<RoleSyncResult & { dry_run: boolean }>> {
    const { guildId } = write;
    return this.#options.idempotency.afterPreparing(
      write,
      () => (dryRun ? this.#preview(guildId, account) : this.#sync(guildId, account)),
      async (_, result) => ok({ ...result, dry_run: dryRun }),
    );
  }

  async #preview(guildId: string, account: MemberAccount): Promise<RoleSyncResult> {
    const link = await linkOf(this.#options.lookup, guildId, account);
    const verdicts = await this.#evaluate(guildId, link, ONLY_SHOWN);
    const plan = await this.#options.changes.preview({ guildId, chatId: link.chatId }, evaluatedOf(verdicts));
    if (!plan) throw notInGuild();
    const { add, remove, failed, unchanged } = plan;
    return resultOf(link, verdicts, unchanged, { added: add, removed: remove, failed });
  }

  /**
   * Synchronises a member's roles after a change of the member's link: with a link, the roles follow the role bindings;
   * without a link, the granted roles are removed, and the roles for members without a link are assigned. Throws a fault
   * such as UNAVAILABLE if the synchronisation has to be retried, and NOT_APPLICABLE if the bot may not remove a granted
   * role. Does nothing for an account that is not in the guild. Returns the member if it is linked and in the guild.
   */
  async follow(
    member: MemberName,
    { reportsFailures = true, maxRankAgeMs }: FollowOptions = {},
  ): Promise<FollowedMember | undefined> {
    const { guildId, chatId } = member;
    const { changes, lookup } = this.#options;
    const until = MemberLocks.patience();
    for (let start = 0; start < MAX_STARTS; start++) {
      const link = await findLink(lookup, guildId, { chatId, gameId: undefined });
      const followed = link ? await this.#withLink(guildId, link, maxRankAgeMs) : await this.#withoutLink(member);
      const { verdicts, error } = followed;
      const done = await changes.applyVerdicts(member, link, evaluatedOf(verdicts), until, { reportsFailures });
      if (!done) continue;
      if (error) throw error;
      const { failed } = done.changes;
      if (!link && failed.length > 0) this.#options.telemetry.rolesNotRevoked(member, failed);
      if (failed.some(({ code }) => code === 'PLATFORM_ERROR')) throw new ApiError('PLATFORM_ERROR');
      if (!link && failed.length > 0)
        throw new ApiError('NOT_APPLICABLE', { message: 'A granted role cannot be removed' });
      const { nickname, isIncomplete = false, isRejected = false } = followed;
      return link && done.member && { link, member: done.member, nickname, isIncomplete, isRejected };
    }
    throw changing();
  }

  /**
   * Evaluates the bindings for a member without a game account. If the bindings service fails, the error is returned: the
   * granted roles are removed all the same, because most guilds have no bindings for such members.
   */
  async #withoutLink({ guildId, chatId }: MemberName): Promise<Followed> {
    const { bindings } = this.#options;
    try {
      const stored = (await bindings.listBindings({ guildId })).bindings;
      if (!concernsUnverified(stored)) return { verdicts: [] };
      const [member] = await evaluate(bindings, guildId, [{ chatId, gameId: 0 }], { rolesOnly: true });
      return { verdicts: member?.roles ?? [] };
    } catch (error) {
      return { verdicts: [], error };
    }
  }

  async #withLink(guildId: string, link: Link, maxRankAgeMs: number | undefined): Promise<Followed> {
    const scope = { rolesOnly: true, maxRankAgeMs };
    const [member] = await evaluate(this.#options.bindings, guildId, [link], scope);
    if (!member) return { verdicts: [] };
    const { incomplete: isIncomplete, rejected: isRejected } = member;
    return { verdicts: member.roles, nickname: nicknameOf(member), isIncomplete, isRejected };
  }

  async #sync(guildId: string, account: MemberAccount): Promise<RoleSyncResult> {
    const until = MemberLocks.patience();
    for (let start = 0; start < MAX_STARTS; start++) {
      const link = await linkOf(this.#options.lookup, guildId, account);
      const verdicts = await this.#evaluate(guildId, link);
      const member = { guildId, chatId: link.chatId };
      const done = await this.#options.changes.applyVerdicts(member, link, evaluatedOf(verdicts), until);
      if (done?.isAbsent) throw notInGuild();
      if (done) return resultOf(link, verdicts, done.unchanged, done.changes);
    }
    throw changing();
  }

  async #evaluate(guildId: string, link: Link, scope?: VerdictScope): Promise<RoleVerdict[]> {
    const [verdicts] = await evaluate(this.#options.bindings, guildId, [link], scope);
    return verdicts?.roles ?? [];
  }
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

export const changing = () =>
  new ApiError('UNAVAILABLE', { message: 'The link of this member is being changed, try again soon' });
