import { createHash } from 'node:crypto';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import { type RandomBytes, randomText } from '#kit/security/base62.ts';
import { CONSOLE_ACTIONS, type ConsoleAction, type GuildRole, includesGuildRole } from '#proto/console/roles.ts';
import type { ConsoleTelemetry } from '../../console-telemetry.ts';
import * as store from '../../store/console/sessions.ts';
import { safeReturnTo } from '../sign-in/return-to.ts';
import type { CreatedSession, SignedInPerson, SignInRequest } from './identity.ts';
import type { Rights } from './rights.ts';
import { roleIn } from './role.ts';

const HOUR_MS = 3_600_000;
/** How long, in milliseconds, a session lasts without activity. */
export const IDLE_MS = 12 * HOUR_MS;
/** How long, in milliseconds, a session lasts at most. */
export const LIFETIME_MS = 7 * 24 * HOUR_MS;
/** The maximum number of sessions of one person; a further sign-in ends the oldest one. */
export const MAX_SESSIONS = 20;
const TOKEN_LENGTH = 43;
const TOKEN = /^[0-9A-Za-z]{43}$/;
/** The time of the last use of a session is written at most once in this time. */
const USED_EVERY_MS = 60_000;
/** The maximum number of guilds that are listed because the person was given a role there. */
const MAX_LISTED = 200;
const MAX_NAME = 100;
const MAX_ADDRESS = 64;
const MAX_USER_AGENT = 300;

/** The session of a request, and who makes it. */
export interface ConsoleSession extends store.SessionRow {
  expiresAt: Date;
}

/** A signed-in person in a guild. */
export interface PersonInGuild {
  session: ConsoleSession;
  /** Undefined if the person has no role in the guild. */
  role: GuildRole | undefined;
}

/** A guild that a person may open. */
export interface OpenGuild {
  guildId: string;
  /** Empty if the name is unknown. */
  name: string;
  role: GuildRole;
}

export interface ConsoleSessionsOptions {
  database: Database;
  clock: Clock;
  random: RandomBytes;
  rights: Rights;
  telemetry: ConsoleTelemetry;
  /** True if persons may open guilds that never had a key. */
  isAnyGuildAllowed: boolean;
}

/** Creates and ends the sessions of persons in the console, and decides who makes a request with which role. */
export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions;

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
  }

  /** Creates a session of a person who has just proved who they are. Ends the person's oldest session if there are too many. */
  async create(person: SignedInPerson, request: SignInRequest): Promise<CreatedSession> {
    const created = await this.#options.database.transaction((transaction) =>
      this.createIn(transaction, person, request),
    );
    this.#options.telemetry.signedIn(person.provider);
    return created;
  }

  /** Like `create`, as a part of a transaction. */
  async createIn(
    transaction: Transaction,
    person: SignedInPerson,
    { address, userAgent, returnTo }: SignInRequest,
  ): Promise<CreatedSession> {
    const { random, rights } = this.#options;
    const token = randomText(TOKEN_LENGTH, random);
    await store.lockPerson(transaction, person.id);
    await store.deleteOldest(transaction, person.id, this.#window(), MAX_SESSIONS - 1);
    const now = this.#now();
    await store.insertSession(
      transaction,
      {
        ...rights.toStored(person),
        tokenHash: hashOf(token),
        personId: person.id,
        personName: printable(person.name, MAX_NAME),
        provider: person.provider,
        address: printable(address, MAX_ADDRESS),
        userAgent: printable(userAgent, MAX_USER_AGENT),
      },
      now,
    );
    return { token, expiresAt: expiryOf({ usedAt: now, createdAt: now }), returnTo: safeReturnTo(returnTo) };
  }

  /**
   * Returns the session with this token and its person's role in a guild; an empty guild ID if the request is about no
   * guild. Reads the person's rights again if they are due. Throws NOT_SIGNED_IN if the session is unknown, expired or
   * ended.
   */
  async find(token: string, guildId = ''): Promise<PersonInGuild> {
    const { database, rights } = this.#options;
    if (!TOKEN.test(token)) throw new ApiError('NOT_SIGNED_IN');
    const tokenHash = hashOf(token);
    let found = await this.#select(tokenHash, guildId);
    if (rights.isDue(found) && (await rights.renew(tokenHash, found))) found = await this.#select(tokenHash, guildId);
    const now = this.#now();
    if (now.getTime() - found.usedAt.getTime() >= USED_EVERY_MS) {
      await store.setUsed(database, tokenHash, now);
      found = { ...found, usedAt: now };
    }
    const session = { ...found, expiresAt: expiryOf(found) };
    return { session, role: roleIn(found, this.#options.isAnyGuildAllowed) };
  }

  /** Returns the session with this token and the guilds that its person may open, ordered by name. */
  async describe(token: string): Promise<{ session: ConsoleSession; guilds: OpenGuild[] }> {
    const { database, isAnyGuildAllowed } = this.#options;
    const { session } = await this.find(token);
    const reported = await store.selectGuilds(database, hashOf(token));
    const open = await store.selectOpenGuilds(database, session.personId, Object.keys(reported), MAX_LISTED);
    const guilds = open.flatMap(({ guildId, givenRole, isKnown }) => {
      const { name = '', role: platformRole = null } = reported[guildId] ?? {};
      const rights = { isOperator: session.isOperator, platformRole, givenRole, isKnown, isSuspended: false };
      const role = roleIn(rights, isAnyGuildAllowed);
      return role ? [{ guildId, name, role }] : [];
    });
    return { session, guilds: guilds.toSorted((a, b) => a.name.localeCompare(b.name)) };
  }

  /**
   * Returns the session with this token and its person's role in a guild. Throws NOT_SIGNED_IN, and ROLE_TOO_LOW if the
   * role does not allow the action.
   */
  async require(
    token: string,
    guildId: string,
    action: ConsoleAction,
  ): Promise<{ session: ConsoleSession; role: GuildRole }> {
    const { session, role } = await this.find(token, guildId);
    if (!role || !includesGuildRole(role, CONSOLE_ACTIONS[action])) throw new ApiError('ROLE_TOO_LOW');
    return { session, role };
  }

  /**
   * Returns the role of each session's person in a guild, in the same order; undefined if the session has ended or the
   * person has no role. Does not count as a use of the sessions. Rights that are due are read again in the background.
   */
  async check(asked: readonly { token: string; guildId: string }[]): Promise<(GuildRole | undefined)[]> {
    const { database, rights, isAnyGuildAllowed } = this.#options;
    const sessions = asked.map(({ token, guildId }) => ({ tokenHash: hashOf(token), guildId }));
    const found = await store.selectInGuilds(database, sessions, this.#window());
    return found.map((session, index) => {
      if (!session) return undefined;
      if (rights.isDue(session)) rights.renewLater(sessions[index]?.tokenHash as Buffer, session);
      return rights.areUsable(session) ? roleIn(session, isAnyGuildAllowed) : undefined;
    });
  }

  /** Returns the sessions of the person, the newest first, and which one is the current one. */
  async list(token: string): Promise<{ current: string; sessions: ConsoleSession[] }> {
    const { database } = this.#options;
    const { sessionId, personId } = await this.#select(hashOf(token), '');
    const rows = await store.selectOfPerson(database, personId, this.#window());
    return { current: sessionId, sessions: rows.map((row) => ({ ...row, expiresAt: expiryOf(row) })) };
  }

  /**
   * Ends the current session, another session of the person, or all of them, and returns how many ended. Works also
   * while the provider does not respond.
   */
  async end(token: string, which: { sessionId: string } | 'current' | 'all'): Promise<number> {
    const { database, telemetry } = this.#options;
    const { sessionId: current, personId } = await this.#select(hashOf(token), '');
    const sessionId = which === 'all' ? null : which === 'current' ? current : which.sessionId;
    const ended = await store.deleteSessions(database, personId, sessionId);
    telemetry.sessionsEnded(ended);
    return ended;
  }

  async #select(tokenHash: Buffer, guildId: string): Promise<store.SessionInGuild> {
    const [found] = await store.selectInGuilds(this.#options.database, [{ tokenHash, guildId }], this.#window());
    if (!found) throw new ApiError('NOT_SIGNED_IN');
    return found;
  }

  #window(): store.SessionWindow {
    const now = this.#options.clock.now();
    return { usedAfter: new Date(now - IDLE_MS), createdAfter: new Date(now - LIFETIME_MS) };
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}

const hashOf = (token: string) => createHash('sha256').update(token).digest();

/** Returns when a session expires if it is not used any more. */
function expiryOf({ usedAt, createdAt }: Pick<store.SessionRow, 'usedAt' | 'createdAt'>): Date {
  return new Date(Math.min(usedAt.getTime() + IDLE_MS, createdAt.getTime() + LIFETIME_MS));
}

/** Returns the beginning of a text from outside, without characters that PostgreSQL or a terminal cannot show. */
function printable(text: string, max: number): string {
  return Array.from(text.toWellFormed().replaceAll(/\p{C}/gu, '')).slice(0, max).join('');
}
