import { byGuildInOrder, guildOf, guildStatement } from '#kit/postgres/citus/by-guild.ts';
import { prepared, type Queryable, type Transaction } from '#kit/postgres/pool.ts';
import type { GuildRole } from '#proto/console/roles.ts';
import type { Provider } from '../../domain/console/identity.ts';

/** The roles of a person in guilds, by guild ID, as sessions store them. */
export type StoredGuilds = Readonly<Record<string, { name: string; role: GuildRole }>>;

/** The rights that a provider reported for a session. The credentials are encrypted. */
export interface StoredRights {
  guilds: StoredGuilds;
  isOperator: boolean;
  credentials: Buffer | null;
}

export interface NewSession extends StoredRights {
  tokenHash: Buffer;
  personId: string;
  personName: string;
  provider: Provider;
  address: string;
  userAgent: string;
}

/** A session that has not expired. */
export interface SessionRow {
  sessionId: string;
  personId: string;
  personName: string;
  provider: Provider;
  isOperator: boolean;
  /** True if the rights can be read again from the provider. */
  isRenewable: boolean;
  rightsReadAt: Date;
  address: string;
  userAgent: string;
  createdAt: Date;
  usedAt: Date;
}

/** Sessions that were used after the one time and created after the other have not expired. */
export interface SessionWindow {
  usedAfter: Date;
  createdAfter: Date;
}

const SESSION = `s.session_id AS "sessionId", s.person_id AS "personId", s.person_name AS "personName", s.provider,
  s.is_operator AS "isOperator", s.credentials IS NOT NULL AS "isRenewable", s.rights_read_at AS "rightsReadAt",
  s.address, s.user_agent AS "userAgent", s.created_at AS "createdAt", s.used_at AS "usedAt"`;

/** Locks the sessions of a person against concurrent sign-ins until the transaction ends. */
export async function lockPerson(transaction: Queryable, personId: string): Promise<void> {
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`console session ${personId}`]);
}

/** Deletes the expired sessions of a person, and the oldest ones so that at most `kept` are left. */
export async function deleteOldest(
  transaction: Transaction,
  personId: string,
  { usedAfter, createdAfter }: SessionWindow,
  kept: number,
): Promise<void> {
  await transaction.query(
    `DELETE FROM auth.sessions WHERE guild_id = '' AND person_id = $1 AND token_hash NOT IN (
       SELECT token_hash FROM auth.sessions
       WHERE guild_id = '' AND person_id = $1 AND used_at > $2 AND created_at > $3
       ORDER BY created_at DESC, session_id LIMIT $4)`,
    [personId, usedAfter, createdAfter, kept],
  );
}

export async function insertSession(transaction: Queryable, session: NewSession, now: Date): Promise<void> {
  const { tokenHash, personId, personName, provider, guilds, isOperator, credentials, address, userAgent } = session;
  await transaction.query(
    `INSERT INTO auth.sessions
       (guild_id, token_hash, person_id, person_name, provider, guilds, is_operator, credentials, address, user_agent,
        rights_read_at, created_at, used_at)
     VALUES ('', $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $10)`,
    [
      tokenHash,
      personId,
      personName,
      provider,
      JSON.stringify(guilds),
      isOperator,
      credentials,
      address,
      userAgent,
      now,
    ],
  );
}

/** A session and what is stored about its person in one guild. */
export interface SessionInGuild extends SessionRow {
  /** The role in the guild according to the provider; null if the person has none there. */
  platformRole: GuildRole | null;
  /** The role that the person was given in the guild; null if none. */
  givenRole: GuildRole | null;
  /** True if the guild has or had keys, or a link to it was created. */
  isKnown: boolean;
  isSuspended: boolean;
}

const SESSIONS_IN_GUILDS = guildStatement(
  4,
  (andGuild) => `SELECT found.*
   FROM unnest((SELECT $1::bytea[]), (SELECT $2::text[])) WITH ORDINALITY AS requested (hash, guild, position)
   LEFT JOIN LATERAL (
     SELECT ${SESSION}, s.guilds -> requested.guild ->> 'role' AS "platformRole", a.role AS "givenRole",
       g.guild_id IS NOT NULL AS "isKnown", g.suspended_at IS NOT NULL AS "isSuspended"
     FROM auth.sessions s
     LEFT JOIN auth.guilds g ON g.guild_id = requested.guild ${andGuild('g')}
     LEFT JOIN auth.guild_access a ON a.guild_id = requested.guild ${andGuild('a')} AND a.chat_id = s.chat_id
     WHERE s.guild_id = '' AND s.token_hash = requested.hash AND s.used_at > $3 AND s.created_at > $4
     LIMIT 1
   ) AS found ON true
   ORDER BY requested.position`,
  prepared,
);

/**
 * Returns the session with each token hash and its person's roles in the guild, in the same order; undefined if the
 * session is unknown or has expired.
 */
export async function selectInGuilds(
  database: Queryable,
  sessions: readonly { tokenHash: Buffer; guildId: string }[],
  { usedAfter, createdAfter }: SessionWindow,
): Promise<(SessionInGuild | undefined)[]> {
  return byGuildInOrder(database, sessions, guildOf, async (part, run) => {
    const hashes = part.map(({ tokenHash }) => tokenHash);
    const guildIds = part.map((session) => session.guildId);
    const values = [hashes, guildIds, usedAfter, createdAfter];
    const rows = await run<SessionInGuild | { sessionId: null }>(SESSIONS_IN_GUILDS, values);
    return rows.map((row) => (row.sessionId === null ? undefined : row));
  });
}

/** Returns the guilds that the provider reported for a session. */
export async function selectGuilds(database: Queryable, tokenHash: Buffer): Promise<StoredGuilds> {
  const [row] = await database.query<{ guilds: StoredGuilds }>(
    `SELECT guilds FROM auth.sessions WHERE guild_id = '' AND token_hash = $1`,
    [tokenHash],
  );
  return row?.guilds ?? {};
}

/** Moves the time of the last use of a session forward. */
export async function setUsed(database: Queryable, tokenHash: Buffer, now: Date): Promise<void> {
  await database.query(
    `UPDATE auth.sessions SET used_at = $2 WHERE guild_id = '' AND token_hash = $1 AND used_at < $2`,
    [tokenHash, now],
  );
}

/** Returns the sessions of a person that have not expired, the newest first. */
export function selectOfPerson(
  database: Queryable,
  personId: string,
  { usedAfter, createdAfter }: SessionWindow,
): Promise<SessionRow[]> {
  return database.query<SessionRow>(
    `SELECT ${SESSION} FROM auth.sessions s
     WHERE s.guild_id = '' AND s.person_id = $1 AND s.used_at > $2 AND s.created_at > $3
     ORDER BY s.created_at DESC, s.session_id`,
    [personId, usedAfter, createdAfter],
  );
}

/** Deletes one session of a person, or all if `sessionId` is null. Returns the number of deleted sessions. */
export async function deleteSessions(database: Queryable, personId: string, sessionId: string | null): Promise<number> {
  const deleted = await database.query(
    `DELETE FROM auth.sessions WHERE guild_id = '' AND person_id = $1 AND session_id = coalesce($2::uuid, session_id)
     RETURNING 1`,
    [personId, sessionId],
  );
  return deleted.length;
}

/** A guild that a person may open, with the role that the person was given there, if any. */
export interface OpenGuild {
  guildId: string;
  givenRole: GuildRole | null;
  isKnown: boolean;
}

/**
 * Returns which of the guilds that a provider reported are known and not suspended, and all guilds in which the person
 * was given a role, at most `limit` of these.
 */
export function selectOpenGuilds(
  database: Queryable,
  personId: string,
  reported: readonly string[],
  limit: number,
): Promise<OpenGuild[]> {
  return database.query<OpenGuild>(
    `WITH given AS (
       SELECT guild_id, role FROM auth.guild_access WHERE chat_id = $1 ORDER BY guild_id LIMIT $3),
     candidates AS (SELECT unnest($2::text[]) AS guild_id UNION SELECT guild_id FROM given)
     SELECT c.guild_id AS "guildId", given.role AS "givenRole", g.guild_id IS NOT NULL AS "isKnown"
     FROM candidates c LEFT JOIN given USING (guild_id) LEFT JOIN auth.guilds g USING (guild_id)
     WHERE g.suspended_at IS NULL ORDER BY c.guild_id`,
    [personId, reported, limit],
  );
}
