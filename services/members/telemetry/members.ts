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

/** The metrics and log lines about members. Tokens and codes are never logged. */
export class MembersTelemetry {
  readonly #tokens;
  readonly #changes;
  readonly #nicknames;
  readonly #roles;
  readonly #notRevoked;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#tokens = metrics.counter('members_tokens_created_total', 'Verification tokens created');
    this.#changes = metrics.counter(
      'members_link_changes_total',
      'Requested changes of account links (redeem, link, unlink), by outcome',
      ['kind', 'outcome'],
    );
    this.#nicknames = metrics.counter(
      'members_nicknames_synced_total',
      'Nicknames synchronised, by outcome: changed, unchanged, or failed because the bot cannot set it',
      ['outcome'],
    );
    this.#roles = metrics.counter(
      'members_roles_synced_total',
      'Roles that synchronisations assigned (given), removed (taken) or failed to change (failed)',
      ['outcome'],
    );
    this.#notRevoked = metrics.counter(
      'members_roles_not_taken_back_total',
      'Failed attempts to remove a granted role from a member whose link was removed, by error code',
      ['code'],
    );
    this.#log = log;
  }

  tokenCreated(guildId: string, chatId: string): void {
    this.#tokens.inc();
    this.#log.info({ guild_id: guildId, chat_id: chatId }, 'verification token created');
  }

  /**
   * Counts and logs a verification code or token that was wrong, used or expired. Many of these in a short time are
   * attempts to guess codes.
   */
  secretRejected(guildId: string, gameId: number): void {
    this.#changes.inc({ kind: 'redeem', outcome: 'not found' });
    this.#log.info({ guild_id: guildId, game_id: gameId }, 'verification code or token rejected');
  }

  /** Counts and logs a link change (redeem, link or unlink) that succeeded. */
  changeDone(intent: NewIntent, { chatId, gameId }: Link): void {
    this.#changes.inc({ kind: intent.kind, outcome: 'done' });
    this.#log.info(
      { ...fieldsOf(intent), chat_id: chatId, game_id: gameId },
      `account link change done: ${intent.kind}`,
    );
  }

  /**
   * Counts and logs a link change that the lookup service rejected because an account is linked already, or is not
   * linked.
   */
  changeRejected(intent: NewIntent, { code }: { code: string }): void {
    this.#changes.inc({ kind: intent.kind, outcome: 'rejected' });
    this.#log.info({ ...fieldsOf(intent), code }, `account link change rejected: ${intent.kind}`);
  }

  /**
   * Counts and logs a link change that the lookup service or the database failed to finish; a worker finishes the
   * change later.
   */
  changeFailed(intent: NewIntent, error: unknown): void {
    this.#changes.inc({ kind: intent.kind, outcome: 'failed' });
    this.#log.warn(
      { ...fieldsOf(intent), code: asApiError(error).code },
      `failed to finish an account link change, will retry: ${intent.kind}`,
    );
  }

  /** Counts and logs the roles that one synchronisation of a member changed; `changes` contains role IDs. */
  rolesSynced(guildId: string, chatId: string, changes: RoleChanges): void {
    const { added, removed, failed } = changes;
    this.#roles.inc({ outcome: 'given' }, added.length);
    this.#roles.inc({ outcome: 'taken' }, removed.length);
    this.#roles.inc({ outcome: 'failed' }, failed.length);
    this.#log.info({ guild_id: guildId, chat_id: chatId, added, removed, failed }, 'roles synchronised');
  }

  /**
   * Counts and logs roles that a member still has after an unlink, although they were assigned because of the link. The
   * removal is retried until the queued task becomes a dead letter.
   */
  rolesNotRevoked({ guildId, chatId }: MemberName, failed: readonly { role_id: string; code: string }[]): void {
    for (const { code } of failed) this.#notRevoked.inc({ code });
    this.#log.warn(
      { guild_id: guildId, chat_id: chatId, failed },
      'failed to remove granted roles after an unlink, will retry',
    );
  }

  /** Counts and logs a nickname that should follow the member's roles, and that the bot cannot set. */
  nicknameNotSet({ guildId, chatId }: MemberName, { code, message }: { code: string; message: string }): void {
    this.#nicknames.inc({ outcome: 'failed' });
    this.#log.info({ guild_id: guildId, chat_id: chatId, code, reason: message }, 'nickname could not be set');
  }

  nicknameSynced(guildId: string, chatId: string, changed: boolean): void {
    this.#nicknames.inc({ outcome: changed ? 'changed' : 'unchanged' });
    this.#log.info({ guild_id: guildId, chat_id: chatId, changed }, 'nickname synchronised');
  }
}

const fieldsOf = ({ guildId, operationId, chatId, gameId }: NewIntent) => ({
  guild_id: guildId,
  operation_id: operationId,
  chat_id: chatId,
  game_id: gameId,
});
