import { withEventSource } from '#kit/events/source.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import type { ModerationEvents } from '../../events.ts';
import * as decisions from '../../store/decisions.ts';
import { listPlayerBans } from '../../store/reads.ts';
import { type LeasedTask, queueTasks, requireLease } from '../../store/restriction-tasks.ts';
import { MAX_SCOPES, storeAgreement } from '../../store/restrictions.ts';
import type { ModerationTelemetry } from '../../telemetry.ts';
import type { NewPunishment, Punishment } from '../punishment.ts';
import { importedReason } from './reasons.ts';
import type { RestrictionInForce, RestrictionScope } from './restriction-state.ts';

/** The source of the events of bans that follow a decision on the game platform. */
const SOURCE = { kind: 'system', id: 'game-platform' } as const;
const LIFT_REASON = 'Lifted on the game platform';
/** Nobody here has made these decisions. */
const NOBODY = { moderatorGameId: null, moderatorChatId: null, sourceServerId: null };

/** A restriction in force on the platform, and why. */
export interface ImportedRestriction extends RestrictionInForce {
  reasons: { displayReason: string; privateReason: string };
}

export interface BanImportsOptions {
  database: Database;
  events: ModerationEvents;
  telemetry: ModerationTelemetry;
  onChange: (guildId: string) => void;
}

/** Changes the bans of a guild as they were changed on the game platform. */
export class BanImports {
  readonly #options: BanImportsOptions;

  constructor(options: BanImportsOptions) {
    this.#options = options;
  }

  /**
   * Bans the player as the restriction says, or lifts the ban without a restriction. One transaction also stores that
   * both are equal, so that the change is not mirrored back. Does nothing if the ban is not `before` any more. In every
   * case the player's task is queued again, for the other universes of the guild.
   */
  async follow(
    task: LeasedTask,
    scope: RestrictionScope,
    restriction: ImportedRestriction | undefined,
    before: Punishment | undefined,
  ): Promise<void> {
    const { database, onChange } = this.#options;
    await withEventSource(SOURCE, () =>
      database.transaction(async (transaction) => {
        // The player before the task, as decisions do: in the other order both would wait for each other.
        const now = await decisions.lockUser(transaction, task.guildId, task.gameId);
        await requireLease(transaction, task);
        await queueTasks(transaction, task.guildId, [task.gameId]);
        const current = await listPlayerBans(transaction, task.guildId, task.gameId, MAX_SCOPES);
        if (current.find(({ placeId }) => placeId === scope.placeId)?.id !== before?.id) return;
        const ban = await this.#change(transaction, task, scope, { restriction, before, now });
        const agreement = { banId: ban?.id ?? null, restriction, writtenId: null, origin: 'platform' } as const;
        await storeAgreement(transaction, task, scope, agreement);
      }),
    );
    onChange(task.guildId);
  }

  async #change(
    transaction: Queryable & Parameters<ModerationEvents['record']>[0],
    { guildId, gameId }: LeasedTask,
    { placeId }: RestrictionScope,
    {
      restriction,
      before,
      now,
    }: { restriction: ImportedRestriction | undefined; before: Punishment | undefined; now: Date },
  ): Promise<Punishment | undefined> {
    const { events, telemetry } = this.#options;
    const wanted = restriction && banOf(gameId, placeId, before, restriction, now);
    const expired = await decisions.endExpired(transaction, guildId, { kind: 'ban', gameId, placeId }, now);
    const lift = { kind: 'ban', gameId, placeId, reason: wanted ? null : LIFT_REASON, ...NOBODY } as const;
    const lifted = before ? await decisions.liftPunishments(transaction, guildId, lift, now) : [];
    const created = wanted && (await decisions.insertPunishment(transaction, guildId, wanted, now));
    await events.record(transaction, [
      ...expired.map((punishment) => events.expired(guildId, punishment)),
      ...lifted.map((punishment) => events.lifted(guildId, punishment, now)),
      ...(created ? [events.created(guildId, created)] : []),
    ]);
    transaction.afterCommit(() => {
      for (const punishment of lifted) telemetry.decided(guildId, 'unban', punishment);
      if (created) telemetry.decided(guildId, 'ban', created);
    });
    return created;
  }
}

function banOf(
  gameId: number,
  placeId: number | null,
  before: Punishment | undefined,
  { endsAt, reasons }: ImportedRestriction,
  now: Date,
): NewPunishment {
  return {
    kind: 'ban',
    gameId,
    gameUsername: before?.gameUsername ?? null,
    reason: importedReason(reasons),
    placeId,
    durationSeconds: endsAt === Infinity ? null : Math.max(1, Math.ceil((endsAt - now.getTime()) / 1_000)),
    ...NOBODY,
  };
}
