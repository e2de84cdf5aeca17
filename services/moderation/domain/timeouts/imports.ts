import { type LeasedTask, TIMEOUT_TASKS } from '../../store/mirror-tasks.ts';
import { type LinkedPlayer, readMute, storeAgreement } from '../../store/timeouts.ts';
import { MirrorImports, type MirrorImportsOptions } from '../mirror-imports.ts';
import type { Punishment } from '../punishment.ts';
import type { End } from './decide.ts';

/** Changes the mutes of a guild as timeouts were changed on the chat platform. */
export class MuteImports {
  readonly #imports: MirrorImports;

  constructor(options: MirrorImportsOptions) {
    this.#imports = new MirrorImports({ ...options, tasks: TIMEOUT_TASKS, source: 'chat-platform' });
  }

  /**
   * Mutes the player until the end of the timeout, or lifts the mute without a timeout. One transaction also stores that
   * both are equal, so that the change is not mirrored back. If the mute is not `before` any more, the player's task is
   * queued again instead.
   */
  async follow(task: LeasedTask, player: LinkedPlayer, timeout: End, before: Punishment | undefined): Promise<void> {
    const { guildId, gameId } = player;
    await this.#imports.inTransaction(task, async (transaction, now) => {
      const { mute } = await readMute(transaction, guildId, gameId);
      if (mute?.id !== before?.id) return TIMEOUT_TASKS.queue(transaction, guildId, [gameId]);
      const wanted =
        timeout > now.getTime() ? { reason: 'Timed out on the chat platform', endsAt: timeout } : undefined;
      const liftReason = 'Timeout ended on the chat platform';
      const decision = { kind: 'mute', placeId: null, before, wanted, liftReason } as const;
      const created = await this.#imports.decide(transaction, task, decision, now);
      await storeAgreement(transaction, player, { mute: created?.expiresAt?.getTime() ?? 0, timeout });
    });
  }
}
