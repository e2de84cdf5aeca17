export type Kind = 'ban' | 'mute';
export type Action = 'ban' | 'unban' | 'mute' | 'unmute';

/** For each kind of punishment, the action that lifts it. */
export const LIFT_ACTIONS = { ban: 'unban', mute: 'unmute' } as const satisfies Record<Kind, Action>;

/**
 * The moderator who made a decision, and the game server from which the decision came; null where the request did not
 * say.
 */
export interface Decider {
  moderatorGameId: number | null;
  moderatorChatId: string | null;
  sourceServerId: string | null;
}

/** A stored ban or mute. */
export interface Punishment extends Decider {
  id: number;
  kind: Kind;
  gameId: number;
  gameUsername: string | null;
  reason: string;
  /** The ID of the place (a part of a game) in which the punishment applies; null means everywhere. */
  placeId: number | null;
  createdAt: Date;
  /** The time at which the punishment expires; null means that the punishment is permanent. */
  expiresAt: Date | null;
}

/** A requested ban or mute. */
export interface NewPunishment extends Decider {
  kind: Kind;
  gameId: number;
  gameUsername: string | null;
  reason: string;
  /** The ID of the place (a part of a game) in which the punishment is to apply; null means everywhere. */
  placeId: number | null;
  /** The duration of the punishment in seconds; null means permanent. */
  durationSeconds: number | null;
}

/** A requested unban or unmute. */
export interface NewLift extends Decider {
  kind: Kind;
  gameId: number;
  reason: string | null;
  /**
   * Which punishments to lift: those of a place (its ID), the one that applies everywhere (null), or all of them
   * (undefined).
   */
  placeId: number | null | undefined;
}

/** A moderation decision (a ban, a mute or the lifting of one) as stored in the moderation log. */
export interface LogEntry extends Decider {
  id: number;
  action: Action;
  gameId: number;
  gameUsername: string | null;
  reason: string | null;
  placeId: number | null;
  durationSeconds: number | null;
  expiresAt: Date | null;
  createdAt: Date;
}

/** Returns the scope that clients see for a place ID; null stands for everywhere. */
export const scopeOf = (placeId: number | null): 'global' | 'place' => (placeId === null ? 'global' : 'place');

/**
 * Returns the one moderator ID that clients see: the chat ID if there is one, otherwise the game ID, otherwise null.
 */
export function moderatorOf({ moderatorGameId, moderatorChatId }: Omit<Decider, 'sourceServerId'>): string | null {
  return moderatorChatId ?? (moderatorGameId === null ? null : String(moderatorGameId));
}

/** Returns the punishment that a response shows if a player has several: the global one, otherwise the newest. */
export function primaryPunishment(punishments: readonly Punishment[]): Punishment | undefined {
  return punishments.find(({ placeId }) => placeId === null) ?? newest(punishments);
}

function newest(punishments: readonly Punishment[]): Punishment | undefined {
  return punishments.toSorted((a, b) => b.id - a.id)[0];
}

/** Returns a player's punishment of a kind that is in force at the time `now`, in Unix milliseconds. */
export function punishmentInForce(punishments: readonly Punishment[], kind: Kind, now: number): Punishment | undefined {
  return primaryPunishment(
    punishments.filter((one) => one.kind === kind && (one.expiresAt === null || one.expiresAt.getTime() > now)),
  );
}
