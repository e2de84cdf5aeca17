import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { Interrupted } from '#kit/queue/definition.ts';
import { inBatches } from '#platforms/batch-cache.ts';
import type { ChatMember, ChatPlatform } from '#platforms/chat.ts';
import { Authority, type BindingsServiceService, type MemberVerdicts } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { type NamedChange, type PreviewItem, type PreviewProgress, savePreview } from '../store/binding-previews.ts';
import { listGrantsOf } from '../store/roles.ts';
import { countUnfinished } from '../store/sync-jobs.ts';
import { guildRolesWith } from './guild-roles.ts';
import { accountsOf, CHUNK, evaluateForJob, handledMembers } from './job-evaluation.ts';
import { failureOf, planRoles } from './role-plan.ts';
import { TimeSlice } from './time-slice.ts';
import { concernsUnverified, evaluatedOf } from './verdicts.ts';

/** The maximum number of members that a preview names. */
const MAX_NAMED = 100;

/** Thrown when this process has lost the lease of a preview, because a newer preview or an operator ended it. */
export class LostPreview extends Error {}

/** Thrown while a sync job of the same guild is unfinished: a preview must not delay it. */
export class WaitsForSync extends ApiError {
  constructor() {
    super('UNAVAILABLE', { message: 'The preview waits until the role syncs of the guild have finished' });
  }
}

export interface PreviewRunnerOptions {
  database: Queryable;
  lookup: GrpcClient<typeof LookupServiceService>;
  bindings: GrpcClient<typeof BindingsServiceService>;
  chat: ChatPlatform;
  /** How long a preview runs, in milliseconds, before previews of other guilds are run; 30 seconds if omitted. */
  sliceMs?: number;
}

/**
 * Evaluates a planned role binding, or the others of its role without it, for all verified members of a guild, and for
 * others if it concerns them, in the order of their chat IDs. Counts who would gain or lose its role, and changes nothing
 * but the preview itself.
 */
export class PreviewRunner {
  readonly #options: PreviewRunnerOptions;

  constructor(options: PreviewRunnerOptions) {
    this.#options = options;
  }

  /**
   * Continues a preview after the last member that it evaluated. Throws Interrupted, LostPreview or WaitsForSync if it
   * has to stop before the end, and the errors of platforms and services.
   */
  async run(item: PreviewItem): Promise<void> {
    const { chat, lookup, sliceMs } = this.#options;
    const { guildId, data, signal } = item;
    const slice = new TimeSlice(signal, sliceMs);
    const progress: PreviewProgress & { namedCount: number } = { ...data };
    // Previews of the previous release have no conditions.
    const empty = { conditions: [], authority: Authority.AUTHORITY_UNSPECIFIED };
    item.data.binding = Object.assign(empty, item.data.binding);
    const { binding } = item.data;
    const { bindings: stored } = await this.#options.bindings.listBindings({ guildId });
    const all = concernsUnverified([binding, ...stored.filter(({ chatRoleId }) => chatRoleId === binding.chatRoleId)]);
    for (let after: string | null = progress.position; after !== null; ) {
      if (slice.isOver) throw new Interrupted();
      const page = await chat.members(guildId, after);
      const members = await handledMembers(lookup, guildId, page.members, { all });
      for (const chunk of inBatches(members, CHUNK)) {
        if (slice.isOver) throw new Interrupted();
        await this.#evaluateChunk(item, progress, chunk);
        slice.advanced();
      }
      after = page.next;
      if (after === null) return;
      await this.#save(item, Object.assign(progress, { position: after }), []);
      slice.advanced();
    }
  }

  async #evaluateChunk(
    item: PreviewItem,
    progress: PreviewProgress & { namedCount: number },
    chunk: readonly (ChatMember & { link: Link | undefined })[],
  ): Promise<void> {
    const { database, bindings, chat } = this.#options;
    const { guildId, signal } = item;
    const { binding, isRemoval } = item.data;
    if ((await countUnfinished(database, guildId)) > 0) throw new WaitsForSync();
    const roleIds = [binding.chatRoleId];
    const guildRoles = await guildRolesWith(chat, guildId, roleIds);
    // A binding can be removed whatever has become of its role.
    const failure = isRemoval ? undefined : failureOf(binding.chatRoleId, guildRoles);
    if (failure) throw new ApiError('NOT_APPLICABLE', { message: failure.message });
    const members = chunk.map(accountsOf);
    const planned = isRemoval ? { removedBindingId: binding.id } : { planned: binding };
    const scope = { chatRoleIds: roleIds, rolesOnly: true, ...planned };
    const attempts = item.attempts - 1;
    const verdicts = await evaluateForJob({ bindings, guildId, members, scope, attempts, signal });
    const chatIds = chunk.map(({ chatId }) => chatId);
    const granted = await listGrantsOf(database, guildId, chatIds, roleIds);
    const named: NamedChange[] = [];
    for (const [index, member] of chunk.entries()) {
      const evaluated = evaluatedOf((verdicts[index] as MemberVerdicts).roles);
      const plan = planRoles({
        guildRoles,
        held: member.roles,
        granted: granted.get(member.chatId) ?? [],
        ...evaluated,
        isVerified: member.link !== undefined,
      });
      const change = plan.add.length > 0 ? 'gained' : plan.remove.length > 0 ? 'lost' : undefined;
      progress.position = member.chatId;
      // The total counts the verified members.
      if (member.link) progress.done += 1;
      if (evaluated.verdicts.get(binding.chatRoleId) === 'unknown') progress.unknown += 1;
      if (change) {
        progress[change] += 1;
        if (progress.namedCount + named.length < MAX_NAMED) {
          named.push({ chat_id: member.chatId, username: member.username, change });
        }
      }
    }
    await this.#save(item, progress, named);
    progress.namedCount += named.length;
  }

  async #save(item: PreviewItem, progress: PreviewProgress, named: readonly NamedChange[]): Promise<void> {
    if (!(await savePreview(this.#options.database, item, { ...progress, named }))) throw new LostPreview();
  }
}
