import { type Kind, type Punishment, punishmentInForce } from './punishment.ts';
import { effectiveEntry, type ShieldEntry } from './shield-entry.ts';

/** A stored row that affects what a player may do: a punishment or an entry of the flagged list. */
export type StandingRow = Punishment | (ShieldEntry & { kind: 'flag' });

/**
 * A player's standing: the punishments that apply everywhere or in one place, and the entries of the flagged list. Each
 * method checks at the time `now` which of them have expired, so that a cached standing stays correct.
 */
export class Standing {
  readonly #punishments: readonly Punishment[];
  readonly #entries: readonly ShieldEntry[];

  constructor(rows: readonly StandingRow[]) {
    this.#punishments = rows.filter((row) => row.kind !== 'flag');
    this.#entries = rows.filter((row) => row.kind === 'flag');
  }

  /** Returns the ban or mute in force at the time `now`, in Unix milliseconds. */
  punishment(kind: Kind, now: number): Punishment | undefined {
    return punishmentInForce(this.#punishments, kind, now);
  }

  /** Returns the player's entry of the flagged list that is in force at the time `now`, in Unix milliseconds. */
  entry(now: number): ShieldEntry | undefined {
    return effectiveEntry(this.#entries, now);
  }
}
