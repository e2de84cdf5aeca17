import { withEventSource } from '#kit/events/source.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import type { ModerationEvents } from '../../events.ts';
import * as decisions from '../../store/decisions.ts';
import { holdsTimeoutTask, type LeasedTimeoutTask, queueTimeoutTasks } from '../../store/timeout-tasks.ts';
import { type LinkedPlayer, readMute, storeAgreement } from '../../store/timeouts.ts';
import type { ModerationTelemetry } from '../../telemetry.ts';
import type { Punishment } from '../punishment.ts';
import type { End } from './decide.ts';

/** The source of the events of mutes that follow a decision on the chat platform. */
const SOURCE = { kind: 'system', id: 'chat-platform' } as const;
const MUTE_REASON = 'Timed out on the chat platform';
const LIFT_REASON = 'Timeout ended on the chat platform';
/** Nobody here has made these decisions. */
const NOBODY = { moderatorGameId: null, moderatorChatId: null, sourceServerId: null };
const SCOPE = { kind: 'mute', placeId: null } as const;

export interface MuteImportsOptions {
  database: Database;
  events: ModerationEvents;
  telemetry: ModerationTelemetry;
  onChange: (guildId: string) => void;
}

/** Changes the mutes of a guild as timeouts were changed on the chat platform. */
export class MuteImports {
  readonly #options: MuteImportsOptions;

  constructor(options: MuteImportsOptions) {
    this.#options = options;
  }

  /**
   * Mutes the player until the end of the timeout, or lifts the mute without a timeout. One transaction also stores that
   * both are equal, so that the change is not mirrored back. If the mute is not `before` any more, the player's task is
   * queued again instead.
   */
  async follow(
    task: LeasedTimeoutTask,
    player: LinkedPlayer,
    timeout: End,
    before: Punishment | undefined,
  ): Promise<void> {
    const { database, onChange } = this.#options;
    const { guildId, gameId } = player;
    await withEventSource(SOURCE, () =>
      database.transaction(async (transaction) => {
        // The player before the task, as decisions do: in the other order both would wait for each other.
        await decisions.lockUser(transaction, guildId, gameId);
        if (!(await holdsTimeoutTask(transaction, task))) return;
        const { now, mute } = await readMute(transaction, guildId, gameId);
        if (mute?.id !== before?.id) return queueTimeoutTasks(transaction, guildId, [gameId]);
        const created = await this.#change(transaction, player, { before, timeout, now });
        await storeAgreement(transaction, player, { mute: created?.expiresAt?.getTime() ?? 0, timeout });
      }),
    );
    onChange(guildId);
  }

  async #change(
    transaction: Transaction,
    { guildId, gameId }: LinkedPlayer,
    { before, timeout, now }: { before: Punishment | undefined; timeout: End; now: Date },
  ): Promise<Punishment | undefined> {
    const { events, telemetry } = this.#options;
    const isMuted = timeout > now.getTime();
    const expired = await decisions.endExpired(transaction, guildId, { ...SCOPE, gameId }, now);
    const lift = { ...SCOPE, gameId, reason: isMuted ? null : LIFT_REASON, ...NOBODY };
    const lifted = before ? await decisions.liftPunishments(transaction, guildId, lift, now) : [];
    const mute = {
      ...SCOPE,
      gameId,
      gameUsername: before?.gameUsername ?? null,
      reason: MUTE_REASON,
      durationSeconds: Math.max(1, Math.ceil((timeout - now.getTime()) / 1000)),
      ...NOBODY,
    };
    const created = isMuted ? await decisions.insertPunishment(transaction, guildId, mute, now) : undefined;
    await events.record(transaction, [
      ...expired.map((punishment) => events.expired(guildId, punishment)),
      ...lifted.map((punishment) => events.lifted(guildId, punishment, now)),
      ...(created ? [events.created(guildId, created)] : []),
    ]);
    transaction.afterCommit(() => {
      for (const punishment of lifted) telemetry.decided(guildId, 'unmute', punishment);
      if (created) telemetry.decided(guildId, 'mute', created);
    });
    return created;
  }
}
