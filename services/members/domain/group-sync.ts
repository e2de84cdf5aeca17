import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { inBatches } from '#platforms/batch-cache.ts';
import type { ChatPlatform, ChatRole } from '#platforms/chat.ts';
import type { BindingsServiceService, MemberVerdicts } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { listGrantsOf } from '../store/roles.ts';
import type { JobProgress, SyncJob } from '../store/sync-jobs.ts';
import { MemberBusy, MemberLocks } from './member-locks.ts';
import { isAbove } from './members.ts';
import type { Changes, RoleChanges } from './role-changes.ts';
import { planRoles, type RoleFailure } from './role-plan.ts';
import { changing, MAX_STARTS } from './role-sync.ts';
import { evaluate, type VerdictScope, verdictsByRole } from './verdicts.ts';

/** As many as bindings weighs in one call. */
const CHUNK = 100;
/** So often a job begins anew at a member whom a platform fails, before it goes on without. */
const PATIENCE = 4;
/** What the game platform has not told of some members, while it tells of others, is queried again after this. */
const QUERY_AGAIN_MS = 1_000;
/** The most errors that a job tells. */
const MOST_ERRORS = 100;

/** A member of the platform's page, with its roles as listed and its link. */
interface Listed {
  chatId: string;
  roles: readonly string[];
  link: Link;
}

/** A run of a job by one process. */
export interface JobRun {
  job: SyncJob;
  /** Changed as the job goes on; saved by `save`. */
  progress: JobProgress;
  /** Commits the progress; throws when the job is another's by now. */
  save(): Promise<void>;
  /** Aborted when the run is to end at the next member. */
  signal: AbortSignal;
}

export interface GroupSyncOptions {
  database: Queryable;
  lookup: GrpcClient<typeof LookupServiceService>;
  bindings: GrpcClient<typeof BindingsServiceService>;
  chat: ChatPlatform;
  changes: RoleChanges;
}

/**
 * Brings all verified members of a guild in line, for the roles that a binding of one group governs. It walks the
 * platform's list in the order of chat IDs, so that one ID says how far it has come. Who is as he should be costs no
 * call; who is not is read live and changed under his lock, as by any other sync.
 */
export class GroupSync {
  readonly #options: GroupSyncOptions;

  constructor(options: GroupSyncOptions) {
    this.#options = options;
  }

  /** From where the job is to its end, or until it is to stop: false then. Errors are reasons to pause it. */
  async run(run: JobRun): Promise<boolean> {
    const { chat } = this.#options;
    const { guildId } = run.job;
    for (let after: string | null = run.progress.position; after !== null; ) {
      const roleIds = await this.#governedRoles(run.job);
      if (roleIds.length === 0) return true;
      const page = await chat.members(guildId, after, { fresh: true });
      const linked = await this.#join(guildId, page.members);
      for (const chunk of inBatches(linked, CHUNK)) {
        if (!(await this.#applyVerdicts(run, chunk, roleIds))) return false;
      }
      after = page.next;
      if (after !== null) await advance(run, after);
    }
    return true;
  }

  /** The roles that a binding of the group governs. */
  async #governedRoles({ guildId, gameGroupId }: SyncJob): Promise<string[]> {
    const { bindings } = await this.#options.bindings.listBindings({ guildId });
    const governing = bindings.filter(
      ({ target }) => target?.$case === 'groupRank' && target.value.gameGroupId === gameGroupId,
    );
    return [...new Set(governing.map(({ chatRoleId }) => chatRoleId))];
  }

  /** Those of a page who are verified, in order; the links of all in one call. */
  async #join(guildId: string, members: readonly { chatId: string; roles: string[] }[]): Promise<Listed[]> {
    if (members.length === 0) return [];
    const chatIds = members.map(({ chatId }) => chatId);
    const { links } = await this.#options.lookup.getLinks({ guildId, chatIds, gameIds: [] });
    const byChatId = new Map(links.map((link) => [link.chatId, link]));
    return members
      .flatMap(({ chatId, roles }): Listed[] => {
        const link = byChatId.get(chatId);
        return link ? [{ chatId, roles, link }] : [];
      })
      .sort((left, right) => (isAbove(left.chatId, right.chatId) ? 1 : -1));
  }

  /** False when the run is to stop. */
  async #applyVerdicts(run: JobRun, chunk: readonly Listed[], roleIds: string[]): Promise<boolean> {
    const { database } = this.#options;
    const { guildId } = run.job;
    const guildRoles = await this.#guildRoles(guildId, roleIds);
    const links = chunk.map(({ link }) => link);
    const verdicts = await this.#evaluate(run, links, scopeOf(roleIds, guildRoles));
    const chatIds = chunk.map(({ chatId }) => chatId);
    const granted = await listGrantsOf(database, guildId, chatIds, roleIds);
    for (const [index, member] of chunk.entries()) {
      if (run.signal.aborted) return false;
      const told = verdicts[index] as MemberVerdicts;
      const plan = planRoles({
        guildRoles,
        held: member.roles,
        granted: granted.get(member.chatId) ?? [],
        verdicts: verdictsByRole(told.roles),
      });
      const isRight = plan.add.length + plan.remove.length + plan.forget.length === 0;
      const changes: Changes | undefined = isRight
        ? { added: [], removed: [], failed: plan.failed }
        : await this.#onceFree(run, () => this.#change(guildId, member, told, roleIds));
      if (!changes) return false;
      if (changes.failed.some(({ code }) => code === 'PLATFORM_ERROR') && run.job.attempts < PATIENCE) {
        throw new ApiError('PLATFORM_ERROR', { message: changes.failed.at(-1)?.message ?? '' });
      }
      count(run.progress, member.chatId, changes, told);
      if (!isRight) await run.save();
    }
    await run.save();
    return true;
  }

  /**
   * The verdicts on all of the members. Whom the game platform has not told of is queried again as long as it tells of
   * more each time, as where it grants fewer calls a minute than there are members.
   */
  async #evaluate(run: JobRun, links: readonly Link[], scope: VerdictScope): Promise<MemberVerdicts[]> {
    const { bindings } = this.#options;
    const { guildId } = run.job;
    const verdicts = await evaluate(bindings, guildId, links, scope);
    for (let before = links.length; !run.signal.aborted; ) {
      const missing = [...verdicts.keys()].filter((index) => verdicts[index]?.incomplete);
      if (missing.length === 0 || missing.length >= before) break;
      before = missing.length;
      await sleep(QUERY_AGAIN_MS, undefined, { signal: run.signal }).catch(() => undefined);
      const again = await evaluate(
        bindings,
        guildId,
        missing.map((index) => links[index] as Link),
        scope,
      );
      for (const [place, index] of missing.entries()) verdicts[index] = again[place] as MemberVerdicts;
    }
    insist(run, verdicts);
    return verdicts;
  }

  /** Asked for anew where one of the roles is not among those remembered. */
  async #guildRoles(guildId: string, roleIds: readonly string[]): Promise<ChatRole[]> {
    const { chat } = this.#options;
    const remembered = await chat.roles(guildId);
    const known = new Set(remembered.map(({ id }) => id));
    return roleIds.every((id) => known.has(id)) ? remembered : chat.roles(guildId, { fresh: true });
  }

  /** Waits for a member whose roles others change; undefined when the run is to stop meanwhile. */
  async #onceFree(run: JobRun, change: () => Promise<Changes>): Promise<Changes | undefined> {
    while (!run.signal.aborted) {
      try {
        return await change();
      } catch (error) {
        if (!(error instanceof MemberBusy)) throw error;
      }
    }
    return undefined;
  }

  /** As long as the member is linked anew meanwhile, it is weighed anew; who is unlinked is left to the unlink. */
  async #change(guildId: string, { chatId, link }: Listed, told: MemberVerdicts, roleIds: string[]): Promise<Changes> {
    const { changes, bindings } = this.#options;
    const only = new Set(roleIds);
    let current: Link | undefined = link;
    let verdicts = told;
    for (let beginning = 0; beginning < MAX_STARTS; beginning++) {
      const done = await changes
        .applyVerdicts({ guildId, chatId }, current, verdictsByRole(verdicts.roles), MemberLocks.patience(), only)
        .catch(orGone);
      if (done) return done.changes;
      current = await changes.findLink(guildId, { chatId, gameId: undefined });
      if (!current) return { added: [], removed: [], failed: [] };
      [verdicts = told] = await evaluate(bindings, guildId, [current], { chatRoleIds: roleIds, rolesOnly: true });
    }
    throw changing();
  }
}

/** Who left the guild a moment ago has no roles. */
function orGone(error: unknown) {
  if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error;
  return { changes: { added: [], removed: [], failed: [] } };
}

/**
 * Where the game platform has not told of members, the job is to ask again: always while it tells of less than half,
 * else a few times, since there may be someone of whom it never tells.
 */
function insist({ job }: JobRun, verdicts: readonly MemberVerdicts[]): void {
  const incomplete = verdicts.filter((member) => member.incomplete).length;
  if (incomplete === 0 || (job.attempts >= PATIENCE && incomplete * 2 < verdicts.length)) return;
  throw new ApiError('PLATFORM_ERROR', { message: 'The game platform does not tell what the bindings need' });
}

async function advance(run: JobRun, position: string): Promise<void> {
  run.progress.position = position;
  await run.save();
}

/** Of roles that the bot cannot change it does not matter who owns what. */
function scopeOf(roleIds: string[], guildRoles: readonly ChatRole[]): VerdictScope {
  const assignable = new Set(guildRoles.filter((role) => role.assignable).map(({ id }) => id));
  return { chatRoleIds: roleIds, rolesOnly: true, withoutOwnership: roleIds.filter((id) => !assignable.has(id)) };
}

const REJECTED: RoleFailure = {
  role_id: '',
  code: 'PLATFORM_ERROR',
  message: 'The game platform rejects requests about the game account of this member',
};

const UNTOLD: RoleFailure = {
  role_id: '',
  code: 'PLATFORM_ERROR',
  message: 'The game platform did not tell what the bindings need',
};

function count(
  progress: JobProgress,
  chatId: string,
  { added, removed, failed }: Changes,
  { incomplete, rejected }: MemberVerdicts,
): void {
  const failures = [...failed, ...(incomplete ? [UNTOLD] : []), ...(rejected ? [REJECTED] : [])];
  progress.position = chatId;
  progress.done += 1;
  if (added.length + removed.length > 0) progress.changed += 1;
  if (failures.length > 0) progress.failed += 1;
  for (const { role_id, code, message } of failures.slice(0, MOST_ERRORS - progress.errors.length)) {
    progress.errors.push({ chat_id: chatId, role_id: role_id || null, code, message });
  }
}
