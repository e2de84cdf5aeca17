import { type LeasedTask, RESTRICTION_TASKS } from '../../store/mirror-tasks.ts';
import { listPlayerBans } from '../../store/reads.ts';
import { MAX_SCOPES, storeAgreement } from '../../store/restrictions.ts';
import { MirrorImports, type MirrorImportsOptions } from '../mirror-imports.ts';
import type { Punishment } from '../punishment.ts';
import { importedReason } from './reasons.ts';
import type { RestrictionInForce, RestrictionScope } from './restriction-state.ts';

/** A restriction in force on the platform, and why. */
export interface ImportedRestriction extends RestrictionInForce {
  reasons: { displayReason: string; privateReason: string };
}

/** Changes the bans of a guild as they were changed on the game platform. */
export class BanImports {
  readonly #imports: MirrorImports;

  constructor(options: MirrorImportsOptions) {
    this.#imports = new MirrorImports({ ...options, tasks: RESTRICTION_TASKS, source: 'game-platform' });
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
    const { guildId, gameId } = task;
    const { placeId } = scope;
    await this.#imports.inTransaction(task, async (transaction, now, hasNewReason) => {
      await RESTRICTION_TASKS.queue(transaction, guildId, [gameId]);
      const current = await listPlayerBans(transaction, guildId, gameId, MAX_SCOPES);
      if (current.find((ban) => ban.placeId === placeId)?.id !== before?.id) return;
      const wanted = restriction && { reason: importedReason(restriction.reasons), endsAt: restriction.endsAt };
      const decision = { kind: 'ban', placeId, before, wanted, liftReason: 'Lifted on the game platform' } as const;
      const ban = await this.#imports.decide(transaction, task, decision, now);
      const agreement = { banId: ban?.id ?? null, restriction, writtenId: null, origin: 'platform' } as const;
      await storeAgreement(transaction, task, scope, agreement, hasNewReason);
    });
  }
}
