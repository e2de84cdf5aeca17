export type Kind = 'ban' | 'mute';
export type Action = 'ban' | 'unban' | 'mute' | 'unmute';

/** The action that lifts a punishment of a kind. */
export const LIFT_ACTIONS = { ban: 'unban', mute: 'unmute' } as const satisfies Record<Kind, Action>;

/** The moderator who decided, and the game server that the decision came from; null where the request did not say. */
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
  /** null: everywhere. */
  placeId: number | null;
  createdAt: Date;
  /** null: permanent. */
  expiresAt: Date | null;
}

/** A requested ban or mute. */
export interface NewPunishment extends Decider {
  kind: Kind;
  gameId: number;
  gameUsername: string | null;
  reason: string;
  /** null: everywhere. */
  placeId: number | null;
  /** null: permanent. */
  durationSeconds: number | null;
}

/** A requested unban or unmute. */
export interface NewLift extends Decider {
  kind: Kind;
  gameId: number;
  reason: string | null;
  /** null: the punishment that counts everywhere; undefined: those of all scopes. */
  placeId: number | null | undefined;
}

/** A decision in the log. */
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

/** The scope that clients see for a place; null stands for everywhere. */
export const scopeOf = (placeId: number | null): 'global' | 'place' => (placeId === null ? 'global' : 'place');

/** The one moderator ID that clients see: the chat ID if there is one, otherwise the game ID, otherwise null. */
export function moderatorOf({ moderatorGameId, moderatorChatId }: Omit<Decider, 'sourceServerId'>): string | null {
  return moderatorChatId ?? (moderatorGameId === null ? null : String(moderatorGameId));
}

/** The punishment that a response shows if there are several: the global one, otherwise the newest. */
export function primaryPunishment(punishments: readonly Punishment[]): Punishment | undefined {
  return punishments.find(({ placeId }) => placeId === null) ?? newest(punishments);
}

function newest(punishments: readonly Punishment[]): Punishment | undefined {
  return punishments.toSorted((a, b) => b.id - a.id)[0];
}

/** The punishment of a kind that is in force at a time, in Unix milliseconds. */
export function punishmentInForce(punishments: readonly Punishment[], kind: Kind, now: number): Punishment | undefined {
  return primaryPunishment(
    punishments.filter((one) => one.kind === kind && (one.expiresAt === null || one.expiresAt.getTime() > now)),
  );
}
