import { ApiError, asApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { inBatches } from '#platforms/batch-cache.ts';
import type { ChatMember, ChatPlatform, ChatRole } from '#platforms/chat.ts';
import type { BindingsServiceService, Condition, MemberVerdicts } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { SyncedRoles } from '../events.ts';
import { listBegun } from '../store/role-changes.ts';
import { listGrantsOf } from '../store/roles.ts';
import type { JobProgress, SyncJob } from '../store/sync-jobs.ts';
import type { AutomaticNicknames } from './automatic-nicknames.ts';
import { guildRolesWith } from './guild-roles.ts';
import { accountsOf, CHUNK, evaluateForJob, handledMembers, MAX_ATTEMPTS_PER_MEMBER } from './job-evaluation.ts';
import { countMember, type NicknameOutcome } from './job-progress.ts';
import { findLink } from './links.ts';
import { MemberBusy, MemberLocks } from './member-locks.ts';
import type { Done, RoleChanges } from './role-changes.ts';
import { type Changes, planRoles } from './role-plan.ts';
import { changing, MAX_STARTS } from './role-sync.ts';
import type { TimeSlice } from './time-slice.ts';
import { concernsUnverified, evaluate, evaluatedOf, nicknameOf, type VerdictScope } from './verdicts.ts';

/** A member from a page of the chat platform's member list, with the roles and the nickname that the page shows. */
type ListedMember = ChatMember & { link: Link | undefined };

/** What a job changed of a member's roles, and the member as it was read for that; undefined if it was not read. */
interface Changed {
  changes: Changes;
  current?: ChatMember | undefined;
}

/** The roles that a job changes, and whether their bindings concern members without a game account. */
interface Governed {
  roleIds: string[];
  concernsAll: boolean;
}

/** A synchronisation job that this process runs. */
export interface JobRun {
  job: Pick<SyncJob, 'guildId' | 'id' | 'gameGroupId' | 'attempts'>;
  /** The job's current progress, which changes while the job runs. `save` stores it. */
  progress: JobProgress;
  /**
   * Commits the progress together with the events of `synced`, and sets `job.attempts` to 0. Throws if this process has
   * lost the job's lease.
   */
  save(synced?: readonly SyncedRoles[]): Promise<void>;
  /** Aborted when this process must stop running the job before it handles the next member. */
  signal: AbortSignal;
  /**
   * The time of this run. The run ends if it is over before a batch of members. The changes of a batch have a time of their own,
   * so that a slow evaluation of the batch is not repeated for each of its members.
   */
  slice: Pick<TimeSlice, 'isOver' | 'ofPart'>;
}

export interface GroupSyncOptions {
  database: Queryable;
  lookup: GrpcClient<typeof LookupServiceService>;
  bindings: GrpcClient<typeof BindingsServiceService>;
  chat: ChatPlatform;
  changes: RoleChanges;
  nicknames: Pick<AutomaticNicknames, 'apply' | 'textsOf'>;
}

/**
 * Runs synchronisation jobs. A job changes the roles of all verified members of a guild, and of others if bindings
 * concern them, but only roles that are bound to ranks of one group of the game platform or to the link. Members are read
 * from the chat platform in the order of their chat IDs, so a chat ID is enough to store how far a job has come. Members
 * who already have the right roles need no further call. The others are read again without a cache, and changed while
 * their lock is held.
 */
export class GroupSync {
  readonly #options: GroupSyncOptions;

  constructor(options: GroupSyncOptions) {
    this.#options = options;
  }

  /**
   * Continues a synchronisation job after the last member that it handled. Returns false if it ended earlier, because
   * its time is over or this process must stop. Any error pauses the job.
   */
  async run(run: JobRun): Promise<boolean> {
    const { chat } = this.#options;
    const { guildId } = run.job;
    for (let after: string | null = run.progress.position; after !== null; ) {
      if (run.slice.isOver) return false;
      const { roleIds, concernsAll } = await this.#governed(run.job);
      if (roleIds.length === 0) return true;
      const page = await chat.members(guildId, after, { fresh: true });
      const members = await handledMembers(this.#options.lookup, guildId, page.members, { all: concernsAll });
      for (const chunk of inBatches(members, CHUNK)) {
        if (run.slice.isOver) return false;
        if (!(await this.#syncMembers(run, chunk, roleIds))) return false;
      }
      after = page.next;
      if (after !== null) await advance(run, after);
    }
    return true;
  }

  /**
   * Returns the chat roles that are bound to ranks of the job's group, or to whether a game account is linked: of these
   * roles no other job takes care.
   */
  async #governed({ guildId, gameGroupId }: JobRun['job']): Promise<Governed> {
    const { bindings } = await this.#options.bindings.listBindings({ guildId });
    const isGoverning = ({ target }: Condition) =>
      target?.$case === 'linked' || (target?.$case === 'groupRank' && target.value.gameGroupId === gameGroupId);
    const governing = bindings.filter((binding) => [binding, ...binding.conditions].some(isGoverning));
    const roleIds = new Set(governing.map(({ chatRoleId }) => chatRoleId));
    const concernsAll = concernsUnverified(bindings.filter(({ chatRoleId }) => roleIds.has(chatRoleId)));
    return { roleIds: [...roleIds], concernsAll };
  }

  /**
   * Synchronises the roles and nicknames of up to 100 members. Returns false if it ended before it had handled all of them,
   * because its time is over or this process must stop.
   */
  async #syncMembers(run: JobRun, chunk: readonly ListedMember[], roleIds: string[]): Promise<boolean> {
    const { database, bindings } = this.#options;
    const { guildId } = run.job;
    const guildRoles = await guildRolesWith(this.#options.chat, guildId, roleIds);
    const members = chunk.map(accountsOf);
    const { attempts } = run.job;
    const scope = scopeOf(roleIds, guildRoles);
    const verdicts = await evaluateForJob({ bindings, guildId, members, scope, attempts, signal: run.signal });
    const nicknames = await this.#nicknamesOf(run, chunk, verdicts);
    const chatIds = chunk.map(({ chatId }) => chatId);
    const granted = await listGrantsOf(database, guildId, chatIds, roleIds);
    const begun = await listBegun(database, guildId, chatIds);
    // Members for whom nothing was changed and something failed; a change reports its failures itself.
    let failed: SyncedRoles[] = [];
    const time = run.slice.ofPart();
    for (const [index, member] of chunk.entries()) {
      if (time.isOver) return false;
      const verdict = verdicts[index] as MemberVerdicts;
      const plan = planRoles({
        guildRoles,
        held: member.roles,
        granted: granted.get(member.chatId) ?? [],
        ...evaluatedOf(verdict.roles),
        isVerified: member.link !== undefined,
      });
      const isRight = plan.add.length + plan.remove.length + plan.forget.length === 0 && !begun.has(member.chatId);
      const changed: Changed | undefined = isRight
        ? { changes: { added: [], removed: [], failed: plan.failed } }
        : await this.#whenUnlocked(run, () => this.#change(guildId, member, verdict, roleIds));
      if (!changed) return false;
      const { changes, current } = changed;
      if (changes.failed.some(({ code }) => code === 'PLATFORM_ERROR') && run.job.attempts < MAX_ATTEMPTS_PER_MEMBER) {
        throw new ApiError('PLATFORM_ERROR', { message: changes.failed.at(-1)?.message ?? '' });
      }
      const nickname = await this.#rename(run, member, current, nicknames[index]);
      countMember(run.progress, member, { ...changes, nickname }, verdict);
      if (isRight) failed.push({ guildId, chatId: member.chatId, gameId: member.link?.gameId ?? null, changes });
      if (!isRight || nickname === 'changed') {
        await run.save(failed);
        failed = [];
        time.advanced();
      }
    }
    await run.save(failed);
    return true;
  }

  /** Returns the nicknames that the members should have; undefined for those whose nickname stays as it is. */
  async #nicknamesOf(
    { job }: JobRun,
    chunk: readonly ListedMember[],
    verdicts: readonly MemberVerdicts[],
  ): Promise<(string | null | undefined)[]> {
    const { nicknames } = this.#options;
    const linked = chunk.flatMap((member, index) => {
      const { link } = member;
      const verdict = verdicts[index] as MemberVerdicts;
      return link ? [{ index, link, member, nickname: nicknameOf(verdict), isRejected: verdict.rejected }] : [];
    });
    const skipsFailures = job.attempts >= MAX_ATTEMPTS_PER_MEMBER;
    const texts = await nicknames.textsOf(job.guildId, linked, { skipsFailures });
    const byIndex = new Map(linked.map(({ index }, position) => [index, texts[position]]));
    return chunk.map((_, index) => byIndex.get(index));
  }

  /**
   * Sets the nickname of a member if it differs from the current one, or from the one that the member list shows if
   * nothing else is known. The link is read again before that, and the member unless it is known from the change of its
   * roles: the list is old by now, and the nickname may have been changed, or the member linked to another game account, or to none.
   */
  async #rename(
    { job }: JobRun,
    listed: ListedMember,
    current: ChatMember | undefined,
    nickname: string | null | undefined,
  ): Promise<NicknameOutcome> {
    const { nicknames, lookup, chat } = this.#options;
    if (nickname === undefined || nickname === (current ?? listed).nickname) return 'unchanged';
    const { guildId, attempts } = job;
    const { chatId } = listed;
    const link = await findLink(lookup, guildId, { chatId, gameId: undefined });
    if (link?.version !== listed.link?.version) return 'unchanged';
    try {
      const member = current ?? (await chat.member(guildId, chatId));
      if (!member || member.nickname === nickname) return 'unchanged';
      return (await nicknames.apply(guildId, member, nickname)) ? 'changed' : 'unchanged';
    } catch (thrown) {
      const error = asApiError(thrown);
      if (attempts < MAX_ATTEMPTS_PER_MEMBER) throw error;
      return error;
    }
  }

  /**
   * Repeats a change of a member's roles until no other synchronisation holds the member's lock. Returns undefined if
   * the job was stopped while it waited.
   */
  async #whenUnlocked(run: JobRun, change: () => Promise<Changed>): Promise<Changed | undefined> {
    while (!run.signal.aborted) {
      try {
        return await change();
      } catch (error) {
        if (!(error instanceof MemberBusy)) throw error;
      }
    }
    return undefined;
  }

  /**
   * Changes the roles of one member. If the member's link changes meanwhile, evaluates the role bindings again. If the
   * member was unlinked meanwhile, changes nothing, because the unlink has queued a task that changes the roles.
   */
  async #change(
    guildId: string,
    { chatId, link }: ListedMember,
    verdict: MemberVerdicts,
    roleIds: string[],
  ): Promise<Changed> {
    const { changes, bindings, lookup } = this.#options;
    const only = new Set(roleIds);
    let current: Link | undefined = link;
    let verdicts = verdict;
    for (let start = 0; start < MAX_STARTS; start++) {
      const done = await changes
        .applyVerdicts({ guildId, chatId }, current, evaluatedOf(verdicts.roles), MemberLocks.patience(), { only })
        .catch(noChangesIfNotFound);
      if (done) return { changes: done.changes, current: done.member };
      current = await findLink(lookup, guildId, { chatId, gameId: undefined });
      if (!current) return { changes: { added: [], removed: [], failed: [] } };
      [verdicts = verdict] = await evaluate(bindings, guildId, [current], { chatRoleIds: roleIds, rolesOnly: true });
    }
    throw changing();
  }
}

/** Treats NOT_FOUND as success without changes: a member that has just left the guild has no roles to change. */
function noChangesIfNotFound(error: unknown): Pick<Done, 'changes' | 'member'> {
  if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error;
  return { changes: { added: [], removed: [], failed: [] } };
}

async function advance(run: JobRun, position: string): Promise<void> {
  run.progress.position = position;
  await run.save();
}

/**
 * Limits an evaluation of role bindings to the given roles. A binding may depend on items that members own on the game
 * platform. For roles that the bot cannot assign these items are not queried, which saves calls.
 */
function scopeOf(roleIds: string[], guildRoles: readonly ChatRole[]): VerdictScope {
  const assignable = new Set(guildRoles.filter((role) => role.assignable).map(({ id }) => id));
  const withoutOwnership = roleIds.filter((id) => !assignable.has(id));
  return { chatRoleIds: roleIds, rolesOnly: true, withNickname: true, withoutOwnership };
}
