import { withEventSource } from '#kit/events/source.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import type { ModerationEvents } from '../events.ts';
import * as decisions from '../store/decisions.ts';
import type { LeasedTask, MirrorTasks } from '../store/mirror-tasks.ts';
import type { ModerationTelemetry } from '../telemetry.ts';
import { type Kind, LIFT_ACTIONS, type NewPunishment, type Punishment } from './punishment.ts';

export interface MirrorImportsOptions {
  database: Database;
  events: ModerationEvents;
  telemetry: ModerationTelemetry;
  onChange: (guildId: string) => void;
}

/** What a platform has decided about a player. */
export interface PlatformDecision {
  kind: Kind;
  placeId: number | null;
  /** The punishment here that the decision replaces or lifts. */
  before: Punishment | undefined;
  /** The reason and the end of the punishment, in Unix milliseconds, or Infinity; undefined to lift it. */
  wanted: { reason: string; endsAt: number } | undefined;
  liftReason: string;
}

/** Nobody here has made the decisions of a platform. */
const NOBODY = { moderatorGameId: null, moderatorChatId: null, sourceServerId: null };

/** Changes the punishments of a guild as they were changed on a platform. */
export class MirrorImports {
  readonly #options: MirrorImportsOptions & { tasks: MirrorTasks; source: string };

  /** `source` is the platform that the events name. */
  constructor(options: MirrorImportsOptions & { tasks: MirrorTasks; source: string }) {
    this.#options = options;
  }

  /**
   * Runs `work` in a transaction that has locked the player and the task, in this order. `work` gets the time of the
   * decision, and whether the task got a new reason meanwhile. Throws if the lease of the task was lost.
   */
  async inTransaction(
    task: LeasedTask,
    work: (transaction: Transaction, now: Date, hasNewReason: boolean) => Promise<void>,
  ): Promise<void> {
    const { database, tasks, source, onChange } = this.#options;
    await withEventSource({ kind: 'system', id: source }, () =>
      database.transaction(async (transaction) => {
        // Decisions lock the player before they queue the task: in the other order both would wait for each other.
        const now = await decisions.lockUser(transaction, task.guildId, task.gameId);
        const hasNewReason = await tasks.requireLease(transaction, task);
        await work(transaction, now, hasNewReason);
      }),
    );
    onChange(task.guildId);
  }

  /** Makes a decision of the platform, with its events. Returns the new punishment. */
  async decide(
    transaction: Transaction,
    { guildId, gameId }: LeasedTask,
    { kind, placeId, before, wanted, liftReason }: PlatformDecision,
    now: Date,
  ): Promise<Punishment | undefined> {
    const { events, telemetry } = this.#options;
    const scope = { kind, gameId, placeId };
    const expired = await decisions.endExpired(transaction, guildId, scope, now);
    const lift = { ...scope, reason: wanted ? null : liftReason, ...NOBODY };
    const lifted = before ? await decisions.liftPunishments(transaction, guildId, lift, now) : [];
    const created = wanted && (await this.#insert(transaction, guildId, { ...scope, ...wanted, before }, now));
    await events.record(transaction, [
      ...expired.map((punishment) => events.expired(guildId, punishment)),
      ...lifted.map((punishment) => events.lifted(guildId, punishment, now)),
      ...(created ? [events.created(guildId, created)] : []),
    ]);
    transaction.afterCommit(() => {
      for (const punishment of lifted) telemetry.decided(guildId, LIFT_ACTIONS[kind], punishment);
      if (created) telemetry.decided(guildId, kind, created);
    });
    return created;
  }

  #insert(
    transaction: Transaction,
    guildId: string,
    {
      endsAt,
      before,
      ...scope
    }: Pick<NewPunishment, 'kind' | 'gameId' | 'placeId' | 'reason'> & {
      endsAt: number;
      before: Punishment | undefined;
    },
    now: Date,
  ): Promise<Punishment | undefined> {
    const durationSeconds = endsAt === Infinity ? null : Math.max(1, Math.ceil((endsAt - now.getTime()) / 1_000));
    const gameUsername = before?.gameUsername ?? null;
    return decisions.insertPunishment(
      transaction,
      guildId,
      { ...scope, gameUsername, durationSeconds, ...NOBODY },
      now,
    );
  }
}
