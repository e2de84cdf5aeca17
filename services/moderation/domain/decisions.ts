import { ApiError, asApiError, isFault } from '#kit/errors.ts';
import { ok } from '#kit/http/envelope.ts';
import { type Idempotency, type RepeatableWrite, Replay, type WriteOutcome } from '#kit/postgres/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import * as store from '../store/decisions.ts';
import type { ModerationEvents } from '../telemetry.ts';
import {
  type Action,
  foremost,
  type Kind,
  LIFTING,
  type NewLift,
  type NewPunishment,
  type Punishment,
} from './punishment.ts';

const WORDS = { ban: 'banned', mute: 'muted' } as const satisfies Record<Kind, string>;

export interface DecisionsOptions {
  idempotency: Idempotency;
  events: ModerationEvents;
  /** Called with the guild after each commit, also where its answer was lost. */
  changed: (guildId: string) => void;
}

interface Done {
  action: Action;
  punishment: Punishment;
}

interface Outcome<Data> {
  /** The response. */
  data: Data;
  /** What was done, in order. */
  done: Done[];
}

/** Bans, mutes and lifts: the decision, its log rows and its events for the game servers are one transaction. */
export class Decisions {
  readonly #options: DecisionsOptions;

  constructor(options: DecisionsOptions) {
    this.#options = options;
  }

  /** Bans or mutes; CONFLICT if that is in force in the scope, unless it is to be replaced. */
  punish<Data>(
    write: RepeatableWrite,
    punishment: NewPunishment,
    replace: boolean,
    view: (made: Punishment) => Data,
  ): Promise<WriteOutcome<Data>> {
    const { guildId } = write;
    const { kind } = punishment;
    return this.#decide(write, punishment.gameId, async (transaction, now) => {
      await store.endExpired(transaction, guildId, punishment, now);
      const lifted = replace
        ? await store.liftPunishments(transaction, guildId, { ...punishment, reason: null }, now)
        : [];
      const made = await store.insertPunishment(transaction, guildId, punishment, now);
      if (!made) throw new ApiError('CONFLICT', { message: `The player is ${WORDS[kind]} already` });
      return { data: view(made), done: [...asDone(LIFTING[kind], lifted), ...asDone(kind, [made])] };
    });
  }

  /** Unbans or unmutes in one scope, or in all; NOT_FOUND if nothing is in force. `view` gets the foremost of them. */
  lift<Data>(
    write: RepeatableWrite,
    lift: NewLift,
    view: (lifted: Punishment, liftedAt: Date, count: number) => Data,
  ): Promise<WriteOutcome<Data>> {
    return this.#decide(write, lift.gameId, async (transaction, now) => {
      const lifted = await store.liftPunishments(transaction, write.guildId, lift, now);
      const punishment = foremost(lifted);
      if (!punishment) throw new ApiError('NOT_FOUND', { message: `The player is not ${WORDS[lift.kind]}` });
      return { data: view(punishment, now, lifted.length), done: asDone(LIFTING[lift.kind], lifted) };
    });
  }

  async #decide<Data>(
    write: RepeatableWrite,
    gameId: number,
    work: (transaction: Queryable, now: Date) => Promise<Outcome<Data>>,
  ): Promise<WriteOutcome<Data>> {
    const { idempotency, events, changed } = this.#options;
    const { guildId } = write;
    let done: Done[] = [];
    try {
      const outcome = await idempotency.inTransaction(write, async (transaction) => {
        const now = await store.lockUser(transaction, guildId, gameId);
        const result = await work(transaction, now);
        done = result.done;
        return ok(result.data);
      });
      if (outcome instanceof Replay) return outcome;
      changed(guildId);
      for (const { action, punishment } of done) events.decided(guildId, action, punishment);
      return outcome;
    } catch (error) {
      if (isFault(asApiError(error))) changed(guildId);
      else events.refused(guildId, gameId, asApiError(error).code);
      throw error;
    }
  }
}

const asDone = (action: Action, punishments: readonly Punishment[]): Done[] =>
  punishments.map((punishment) => ({ action, punishment }));
