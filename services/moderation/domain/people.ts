import type { Clock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { GameServer } from '#proto/gen/guild/activity/v1/admin.ts';
import type { PlayerServiceService, StaffSession } from '#proto/gen/guild/activity/v1/players.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { MAX_PERSON_LOGS, type PersonPart } from '#proto/rest/people.ts';
import * as store from '../store/reads.ts';
import type { LogEntry, Punishment } from './punishment.ts';
import type { ShieldEntry } from './shield-entry.ts';
import type { Standings } from './standings.ts';

/** What is known about one player. A part of another service is undefined if it was not requested or does not exist. */
export interface Person {
  ban: Punishment | undefined;
  mute: Punishment | undefined;
  flag: ShieldEntry | undefined;
  /** The newest entries of the moderation log about the player, the newest first. */
  entries: LogEntry[];
  link: Link | undefined;
  session: StaffSession | undefined;
  server: GameServer | undefined;
}

export interface PeopleOptions {
  database: Queryable;
  standings: Standings;
  lookup: GrpcClient<typeof LookupServiceService>;
  players: GrpcClient<typeof PlayerServiceService>;
  clock: Clock;
}

/** Finds everything that a moderator asks about one player, in this service and in the services lookup and activity. */
export class People {
  readonly #options: PeopleOptions;

  constructor(options: PeopleOptions) {
    this.#options = options;
  }

  /**
   * Returns what is known about a player. `parts` are the requested parts of other services. Throws the errors of those
   * services, because a part that cannot be read must not look like one that does not exist.
   */
  async find(guildId: string, gameId: number, parts: ReadonlySet<PersonPart>): Promise<Person> {
    const { database, standings, clock } = this.#options;
    const [punishments, entries, standing, link, reported] = await Promise.all([
      store.findPrimaryPunishments(database, guildId, gameId),
      store.listLog(database, guildId, { gameId }, { after: undefined, limit: MAX_PERSON_LOGS }),
      standings.find({ guildId, gameIds: [gameId], placeId: null }),
      parts.has('link') ? this.#link(guildId, gameId) : undefined,
      this.#reported(guildId, gameId, parts),
    ]);
    return {
      ban: punishments.find(({ kind }) => kind === 'ban'),
      mute: punishments.find(({ kind }) => kind === 'mute'),
      flag: standing.get(gameId)?.entry(clock.now()),
      entries,
      link,
      session: reported?.session,
      server: reported?.server,
    };
  }

  async #link(guildId: string, gameId: number): Promise<Link | undefined> {
    const { links } = await this.#options.lookup.getLinks({ guildId, chatIds: [], gameIds: [gameId] });
    return links[0];
  }

  /** Returns what game servers reported about the player, in one call; undefined if no such part is requested. */
  async #reported(guildId: string, gameId: number, parts: ReadonlySet<PersonPart>) {
    const [withSession, withServer] = [parts.has('session'), parts.has('server')];
    if (!withSession && !withServer) return undefined;
    return this.#options.players.findPlayer({ guildId, gameId, withSession, withServer });
  }
}
