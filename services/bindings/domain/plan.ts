import { invalidRequest } from '#kit/errors.ts';
import type { ChatPlatform } from '#platforms/chat.ts';
import type { GamePlatform } from '#platforms/game.ts';
import type { Binding, NewBinding } from './binding.ts';
import type { Bindings } from './bindings.ts';
import { checkConditions, checkTargets } from './platforms.ts';
import { type RuleChange, rankFaults, withChange } from './rule-change.ts';

/** The milliseconds after which a check fails with TIMEOUT: earlier than the deadline of the calling service. */
const PLAN_MS = 5_500;

/** A change of a stored role binding that is only planned; undefined fields keep their values. */
export interface PlannedChange extends RuleChange {
  bindingId: number;
}

export interface PlannerOptions {
  bindings: Bindings;
  game: GamePlatform;
  chat: ChatPlatform;
}

/** Checks planned role bindings as if they were to be stored, and stores nothing. */
export class Planner {
  readonly #options: PlannerOptions;

  constructor(options: PlannerOptions) {
    this.#options = options;
  }

  /** Returns a new role binding, with the ID 0. Throws the errors of checkTargets. */
  async planNew(guildId: string, wanted: NewBinding): Promise<Binding> {
    const { game, chat } = this.#options;
    await checkTargets(game, chat, guildId, wanted, PLAN_MS);
    return { id: 0, ...wanted };
  }

  /**
   * Returns a stored role binding with a change. Throws NOT_FOUND if the guild has no such binding, INVALID_REQUEST if
   * the change does not fit its type or range, and the errors of checkConditions.
   */
  async planChange(guildId: string, change: PlannedChange): Promise<Binding> {
    const binding = await this.#options.bindings.get(guildId, change.bindingId);
    const changed = withChange(binding, change);
    const faults = rankFaults(binding, change, changed);
    if (faults.length > 0) throw invalidRequest(faults);
    if (change.conditions) await checkConditions(this.#options.game, change.conditions, PLAN_MS);
    return changed;
  }
}
