import { type Kind, type Punishment, punishmentInForce } from './punishment.ts';
import { effectiveEntry, type ShieldEntry } from './shield-entry.ts';

/** A row that counts for a player: a punishment or an entry of the flagged list. */
export type StandingRow = Punishment | (ShieldEntry & { kind: 'flag' });

/**
 * The punishments and flags of a player that count everywhere or in one place. Each method evaluates at the given time
 * which of them have expired, so that a cached standing stays correct.
 */
export class Standing {
  readonly #punishments: readonly Punishment[];
  readonly #entries: readonly ShieldEntry[];

  constructor(rows: readonly StandingRow[]) {
    this.#punishments = rows.filter((row) => row.kind !== 'flag');
    this.#entries = rows.filter((row) => row.kind === 'flag');
  }

  /** The ban or mute in force at a time, in Unix milliseconds. */
  punishment(kind: Kind, now: number): Punishment | undefined {
    return punishmentInForce(this.#punishments, kind, now);
  }

  /** The entry of the flagged list at a time, in Unix milliseconds. */
  entry(now: number): ShieldEntry | undefined {
    return effectiveEntry(this.#entries, now);
  }
}
