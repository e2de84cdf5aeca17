import type { Clock } from '../../limits.ts';

const MAX_LOGS = 100_000;
const MAX_KEYS = 10_000;

/** The writable part of a restriction. Without `seconds` it is permanent. */
export type Terms = {
  active: boolean;
  seconds: number | null;
  privateReason: string;
  displayReason: string;
  excludeAltAccounts: boolean;
};

/** Who changed a restriction: a user (also the owner of an API key), or a script on a game server. */
export type Moderator = { robloxUser: string } | { gameServerScript: Record<string, never> };

/** Whose restriction: of a user in a whole universe, or in one place of it. */
export type Subject = { universe: string; place: string | null; user: string };

export type Restriction = Subject & Terms & { startTime: number; updateTime: number };
export type RestrictionLog = Subject & Terms & { startTime: number; createTime: number; moderator: Moderator };

/** The restrictions of all universes, which exist as soon as they are named. Everybody who was ever restricted stays. */
export class Restrictions {
  readonly #clock: Clock;
  readonly #restrictions = new Map<string, Restriction>();
  readonly #outcomes = new Map<string, Restriction>();
  #logs: RestrictionLog[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Stores a restriction and its log entry. */
  change(subject: Subject, terms: Terms, moderator: Moderator): Restriction {
    const now = this.#clock();
    const before = this.of(subject);
    // The end of a restriction does not change when it began.
    const startTime = terms.active ? now : (before?.startTime ?? now);
    const restriction = { ...subject, ...terms, startTime, updateTime: now };
    this.#restrictions.set(keyOf(subject), restriction);
    this.#logs.push({ ...subject, ...terms, startTime, createTime: now, moderator });
    if (this.#logs.length > MAX_LOGS) this.#logs.shift();
    return restriction;
  }

  /** The user's own restriction in the universe or place; it ends by itself after its duration. */
  of(subject: Subject): Restriction | undefined {
    const found = this.#restrictions.get(keyOf(subject));
    return found && this.#asOfNow(found);
  }

  /** The restriction that applies: in a place without an active one of its own, that of the universe. */
  effective(subject: Subject): { restriction: Restriction | undefined; inherited: boolean } {
    const own = this.of(subject);
    const above = subject.place === null || own?.active ? undefined : this.of({ ...subject, place: null });
    return above?.active ? { restriction: above, inherited: true } : { restriction: own, inherited: false };
  }

  /** All restrictions of a universe or of one of its places, also those that ended. */
  list(universe: string, place: string | null): Restriction[] {
    const all = [...this.#restrictions.values()];
    const matches = (row: Restriction) => row.universe === universe && row.place === place;
    return all.filter(matches).map((row) => this.#asOfNow(row));
  }

  all(): Restriction[] {
    return [...this.#restrictions.values()].map((row) => this.#asOfNow(row));
  }

  /** The changes in a universe and its places, newest first. */
  logs(universe: string): RestrictionLog[] {
    return this.#logs.filter((log) => log.universe === universe).toReversed();
  }

  /** What an earlier request with the same idempotency key returned. */
  outcome(key: string): Restriction | undefined {
    return this.#outcomes.get(key);
  }

  remember(key: string, restriction: Restriction): void {
    const [oldest] = this.#outcomes.keys();
    if (this.#outcomes.size >= MAX_KEYS && oldest !== undefined) this.#outcomes.delete(oldest);
    this.#outcomes.set(key, restriction);
  }

  clear(): void {
    this.#restrictions.clear();
    this.#outcomes.clear();
    this.#logs = [];
  }

  #asOfNow(restriction: Restriction): Restriction {
    const { active, seconds, startTime } = restriction;
    const isOver = seconds !== null && this.#clock() >= startTime + seconds * 1000;
    return { ...restriction, active: active && !isOver };
  }
}

const keyOf = ({ universe, place, user }: Subject) => `${universe} ${place ?? ''} ${user}`;
