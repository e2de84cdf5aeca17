import { ApiError, asApiError, isServerError } from '#kit/errors.ts';
import { ok } from '#kit/http/envelope.ts';
import {
  type Idempotency,
  type IdempotentWrite,
  StoredResponse,
  type WriteOutcome,
} from '#kit/postgres/idempotency/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { ModerationEvents } from '../events.ts';
import * as store from '../store/decisions.ts';
import type { ModerationTelemetry } from '../telemetry.ts';
import {
  type Action,
  type Kind,
  LIFT_ACTIONS,
  type NewLift,
  type NewPunishment,
  type Punishment,
  primaryPunishment,
} from './punishment.ts';

const PARTICIPLES = { ban: 'banned', mute: 'muted' } as const satisfies Record<Kind, string>;

export interface DecisionsOptions {
  idempotency: Idempotency;
  telemetry: ModerationTelemetry;
  events: ModerationEvents;
  /**
   * Called with the guild ID after each committed decision, and after an error that leaves open if the commit
   * succeeded.
   */
  onChange: (guildId: string) => void;
  /** Called in the transaction of each decision about a ban, before its rows; undefined if bans are not mirrored. */
  mirror?: ((transaction: Queryable, guildId: string, gameId: number) => Promise<void>) | undefined;
  /** Called in the transaction of each decision that may be about a mute that applies everywhere, before its rows. */
  mirrorMute?: (transaction: Queryable, guildId: string, gameId: number) => Promise<void>;
}

/** The player and the punishments that a decision is about; `placeId` is undefined for those of all places. */
type DecisionScope = Pick<NewLift, 'kind' | 'gameId' | 'placeId'>;

interface AppliedAction {
  action: Action;
  punishment: Punishment;
}

interface DecisionResult<Data> {
  /** The `data` field of the REST response to a decision. */
  data: Data;
  /** The actions that the decision consists of, in the order of the log. */
  applied: AppliedAction[];
  /** The player's punishments whose expiry was noticed by the decision. */
  expired: Punishment[];
}

/**
 * Bans and mutes players, and lifts bans and mutes. One transaction writes a decision, its log rows, its outbox rows
 * for the game servers, and its events.
 */
export class Decisions {
  readonly #options: DecisionsOptions;

  constructor(options: DecisionsOptions) {
    this.#options = options;
  }

  /**
   * Bans or mutes a player. Throws CONFLICT if a punishment of the same kind is in force in the scope, unless `replace`
   * is set, which lifts that punishment first.
   */
  punish<Data>(
    write: IdempotentWrite,
    punishment: NewPunishment,
    replace: boolean,
    view: (created: Punishment) => Data,
  ): Promise<WriteOutcome<Data>> {
    const { guildId } = write;
    const { kind } = punishment;
    return this.#decide(write, punishment, async (transaction, now) => {
      const expired = await store.endExpired(transaction, guildId, punishment, now);
      const lifted = replace
        ? await store.liftPunishments(transaction, guildId, { ...punishment, reason: null }, now)
        : [];
      const created = await store.insertPunishment(transaction, guildId, punishment, now);
      if (!created) throw new ApiError('CONFLICT', { message: `The player is ${PARTICIPLES[kind]} already` });
      const applied = [...appliedActions(LIFT_ACTIONS[kind], lifted), ...appliedActions(kind, [created])];
      return { data: view(created), applied, expired };
    });
  }

  /**
   * Unbans or unmutes a player in one scope or in all scopes. Throws NOT_FOUND if no punishment is in force. `view`
   * gets the most important one of the lifted punishments: the global one, otherwise the newest.
   */
  lift<Data>(
    write: IdempotentWrite,
    lift: NewLift,
    view: (lifted: Punishment, liftedAt: Date, count: number) => Data,
  ): Promise<WriteOutcome<Data>> {
    return this.#decide(write, lift, async (transaction, now) => {
      const lifted = await store.liftPunishments(transaction, write.guildId, lift, now);
      const punishment = primaryPunishment(lifted);
      if (!punishment) throw new ApiError('NOT_FOUND', { message: `The player is not ${PARTICIPLES[lift.kind]}` });
      const applied = appliedActions(LIFT_ACTIONS[lift.kind], lifted);
      return { data: view(punishment, now, lifted.length), applied, expired: [] };
    });
  }

  async #decide<Data>(
    write: IdempotentWrite,
    scope: DecisionScope,
    work: (transaction: Queryable, now: Date) => Promise<DecisionResult<Data>>,
  ): Promise<WriteOutcome<Data>> {
    const { idempotency, telemetry, events, onChange } = this.#options;
    const { guildId } = write;
    const { gameId } = scope;
    let applied: AppliedAction[] = [];
    try {
      const outcome = await idempotency.inTransaction(write, async (transaction) => {
        const now = await store.lockUser(transaction, guildId, gameId);
        await this.#queueMirror(transaction, guildId, scope);
        const result = await work(transaction, now);
        applied = result.applied;
        const expired = result.expired.map((punishment) => events.expired(guildId, punishment));
        const decided = applied.map(({ action, punishment }) =>
          action === punishment.kind ? events.created(guildId, punishment) : events.lifted(guildId, punishment, now),
        );
        await events.record(transaction, [...expired, ...decided]);
        return ok(result.data);
      });
      if (outcome instanceof StoredResponse) return outcome;
      onChange(guildId);
      for (const { action, punishment } of applied) telemetry.decided(guildId, action, punishment);
      return outcome;
    } catch (error) {
      if (isServerError(asApiError(error))) onChange(guildId);
      else telemetry.rejected(guildId, gameId, asApiError(error).code);
      throw error;
    }
  }

  /**
   * Queues the player for a mirror. Imports lock the player's task before the guild's counters, so decisions do too: in the
   * other order a decision, an import and a statement that queues many players can deadlock.
   */
  async #queueMirror(transaction: Queryable, guildId: string, { kind, gameId, placeId }: DecisionScope): Promise<void> {
    const { mirror, mirrorMute } = this.#options;
    if (kind === 'ban') await mirror?.(transaction, guildId, gameId);
    // A mute of one place is not mirrored; without a place the decision is about all of them.
    else if (placeId == null) await mirrorMute?.(transaction, guildId, gameId);
  }
}

const appliedActions = (action: Action, punishments: readonly Punishment[]): AppliedAction[] =>
  punishments.map((punishment) => ({ action, punishment }));
