export type Kind = 'ban' | 'mute';
export type Action = 'ban' | 'unban' | 'mute' | 'unmute';

/** The action that lifts a punishment of a kind. */
export const LIFTING = { ban: 'unban', mute: 'unmute' } as const satisfies Record<Kind, Action>;

/** Who decided, and on which game server; null where it was not said. */
export interface Decider {
  moderatorGameId: number | null;
  moderatorChatId: string | null;
  sourceServerId: string | null;
}

/** A ban or mute as it was decided. */
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

/** What is asked for. */
export interface NewPunishment extends Decider {
  kind: Kind;
  gameId: number;
  gameUsername: string | null;
  reason: string;
  placeId: number | null;
  /** null: permanent. */
  durationSeconds: number | null;
}

export interface NewLift extends Decider {
  kind: Kind;
  gameId: number;
  reason: string | null;
  /** null: everywhere; undefined: all scopes. */
  placeId: number | null | undefined;
}

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

/** The one that is told of several: the global one, else the newest. */
export function foremost(punishments: readonly Punishment[]): Punishment | undefined {
  return punishments.find(({ placeId }) => placeId === null) ?? newest(punishments);
}

function newest(punishments: readonly Punishment[]): Punishment | undefined {
  return punishments.toSorted((a, b) => b.id - a.id)[0];
}

/** The punishment of a kind that is in force at a time, in Unix milliseconds. */
export function inForce(punishments: readonly Punishment[], kind: Kind, now: number): Punishment | undefined {
  return foremost(
    punishments.filter((one) => one.kind === kind && (one.expiresAt === null || one.expiresAt.getTime() > now)),
  );
}
