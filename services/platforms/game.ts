/** A user of the game platform. */
export interface GameUser {
  id: number;
  /** The name by which others know the user; it can change. */
  name: string;
}

/**
 * What we ask of the game platform. Errors of every call: PLATFORM_ERROR when it refuses or gives nothing readable,
 * TIMEOUT when it is too slow, UNAVAILABLE while it wants no calls or has kept failing.
 */
export interface GamePlatform {
  /** null when there is no such user. */
  user(id: number): Promise<GameUser | null>;
}
