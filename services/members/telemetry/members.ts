import { asApiError } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Link } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { NewIntent } from '../store/intents.ts';
import type { MemberName } from '../store/roles.ts';

interface RoleChanges {
  added: readonly string[];
  removed: readonly string[];
  failed: readonly { role_id: string; code: string }[];
}

/** What happens to members: a counter and a line in the log for each. Tokens and codes are never told. */
export class MembersEvents {
  readonly #tokens;
  readonly #changes;
  readonly #nicknames;
  readonly #roles;
  readonly #notTakenBack;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#tokens = metrics.counter('members_tokens_created_total', 'Verification tokens created');
    this.#changes = metrics.counter('members_link_changes_total', 'Changes of links', ['kind', 'outcome']);
    this.#nicknames = metrics.counter('members_nicknames_synced_total', 'Nicknames synchronised', ['outcome']);
    this.#roles = metrics.counter(
      'members_roles_synced_total',
      'Roles assigned, removed, or neither because that failed',
      ['outcome'],
    );
    this.#notTakenBack = metrics.counter(
      'members_roles_not_taken_back_total',
      'Times that a given role could not be taken from someone who was unlinked',
      ['code'],
    );
    this.#log = log;
  }

  tokenCreated(guildId: string, chatId: string): void {
    this.#tokens.inc();
    this.#log.info({ guild_id: guildId, chat_id: chatId }, 'a verification token was created');
  }

  /** Someone gave a code or token that is wrong, used or expired: many of these are guesses. */
  secretRefused(guildId: string, gameId: number): void {
    this.#changes.inc({ kind: 'redeem', outcome: 'not found' });
    this.#log.info({ guild_id: guildId, game_id: gameId }, 'a verification code was refused');
  }

  /** A redeem, link or unlink was done. */
  changeDone(intent: NewIntent, { chatId, gameId }: Link): void {
    this.#changes.inc({ kind: intent.kind, outcome: 'done' });
    this.#log.info({ ...namesOf(intent), chat_id: chatId, game_id: gameId }, `${intent.kind} done`);
  }

  /** Lookup refused it: linked already, or not linked. */
  changeRefused(intent: NewIntent, { code }: { code: string }): void {
    this.#changes.inc({ kind: intent.kind, outcome: 'refused' });
    this.#log.info({ ...namesOf(intent), code }, `${intent.kind} refused`);
  }

  /** Lookup or our database failed: it is finished later. */
  changeFailed(intent: NewIntent, error: unknown): void {
    this.#changes.inc({ kind: intent.kind, outcome: 'failed' });
    this.#log.warn({ ...namesOf(intent), code: asApiError(error).code }, `${intent.kind} has to be finished later`);
  }

  /** Roles are IDs. */
  rolesSynced(guildId: string, chatId: string, changes: RoleChanges): void {
    const { added, removed, failed } = changes;
    this.#roles.inc({ outcome: 'given' }, added.length);
    this.#roles.inc({ outcome: 'taken' }, removed.length);
    this.#roles.inc({ outcome: 'failed' }, failed.length);
    this.#log.info({ guild_id: guildId, chat_id: chatId, added, removed, failed }, 'roles were synchronised');
  }

  /** Someone who was unlinked still has what a sync gave: it is tried again for as long as role tasks are kept. */
  notTakenBack({ guildId, chatId }: MemberName, failed: readonly { role_id: string; code: string }[]): void {
    for (const { code } of failed) this.#notTakenBack.inc({ code });
    this.#log.warn({ guild_id: guildId, chat_id: chatId, failed }, 'roles could not be taken back');
  }

  nicknameSynced(guildId: string, chatId: string, changed: boolean): void {
    this.#nicknames.inc({ outcome: changed ? 'changed' : 'unchanged' });
    this.#log.info({ guild_id: guildId, chat_id: chatId, changed }, 'a nickname was synchronised');
  }
}

const namesOf = ({ guildId, operationId, chatId, gameId }: NewIntent) => ({
  guild_id: guildId,
  operation_id: operationId,
  chat_id: chatId,
  game_id: gameId,
});
