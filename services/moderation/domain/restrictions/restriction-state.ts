/** A ban in force here. Times are Unix milliseconds; a permanent ban ends at Infinity. */
export interface BanInForce {
  id: number;
  endsAt: number;
}

/** A restriction in force on the game platform. */
export interface RestrictionInForce {
  startedAt: number;
  endsAt: number;
}

/** What a ban and a restriction were when they were last made equal. */
export interface AgreedState {
  banId: number | null;
  /** How the ban ended; undefined while it is in force, and without a ban. */
  banEnd: 'lifted' | 'expired' | undefined;
  restriction: RestrictionInForce | null;
}

/** The scope of a ban on the game platform: a universe, or one of its places. */
export interface RestrictionScope {
  universeId: number;
  /** Null for the whole universe. */
  placeId: number | null;
}
