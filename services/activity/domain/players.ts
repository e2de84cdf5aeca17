import type { LiveServer } from '../store/servers.ts';
import type { Session } from '../store/sessions.ts';
import type { LiveServers } from './live-servers.ts';
import type { StaffRecords } from './staff-records.ts';

export interface PlayerParts {
  withSession: boolean;
  withServer: boolean;
}

/** Finds what game servers reported about a player. */
export class Players {
  readonly #liveServers: LiveServers;
  readonly #staffRecords: StaffRecords;

  constructor(liveServers: LiveServers, staffRecords: StaffRecords) {
    this.#liveServers = liveServers;
    this.#staffRecords = staffRecords;
  }

  /** Returns the open staff session of a player that started last, and the live server that reports the player. */
  async find(
    guildId: string,
    gameId: number,
    { withSession, withServer }: PlayerParts,
  ): Promise<{ session: Session | undefined; server: LiveServer | undefined }> {
    const [sessions, server] = await Promise.all([
      withSession
        ? this.#staffRecords.sessions(guildId, { gameId, open: true }, { after: undefined, limit: 1 })
        : undefined,
      withServer ? this.#liveServers.ofPlayer(guildId, gameId) : undefined,
    ]);
    return { session: sessions?.rows[0], server };
  }
}
