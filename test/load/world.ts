import { Client } from 'pg';
import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { inParallel } from '#kit/resilience/parallel.ts';
import { type KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import type { RunningSystem } from './running.ts';

/** Enough guilds that no scenario reaches a limit of a guild or a key. */
export const GUILDS = 8_000;
/** Each key has a rate limit of its own, so that each request counts towards two limits. */
const KEY_CAP = 100_000;
const MAX_CONCURRENT_CALLS = 16;
const MAX_ATTEMPTS = 10;
const ROWS_PER_INSERT = 500_000;

export interface Guild {
  id: string;
  /** A key with all scopes. */
  key: string;
}

/** The data that a benchmark's requests refer to. */
export interface World {
  guilds: readonly Guild[];
  /** The number of users of all guilds. */
  users: number;
  /** A key with the scope lookup:read alone. */
  narrowKey: string;
  /** A key whose rate limit is exhausted. */
  spentKey: string;
}

/** The ID of a guild by its number. */
export function guildId(number: number): string {
  return `95${String(number).padStart(16, '0')}`;
}

/** Every second user is in the first guild, the others are spread evenly. */
export function guildOf(user: number): number {
  return user % 2 === 0 ? 0 : ((user - 1) / 2) % GUILDS;
}

/** The nth user of a guild. */
export function userOf(guild: number, nth: number): number {
  return guild === 0 ? nth * 2 : (nth * GUILDS + guild) * 2 + 1;
}

/** The number of users of a guild, out of `users` of all guilds. */
export function usersIn(guild: number, users: number): number {
  return Math.max(1, Math.floor(guild === 0 ? users / 2 : users / 2 / GUILDS));
}

export const chatIdOf = (user: number): string => `92${String(user).padStart(16, '0')}`;
export const gameIdOf = (user: number): number => 10_000_000 + user;

const USERS = `
  SELECT u, '95' || lpad((CASE WHEN u % 2 = 0 THEN 0 ELSE (u - 1) / 2 % ${GUILDS} END)::text, 16, '0') AS guild_id,
    '92' || lpad(u::text, 16, '0') AS chat_id, 10000000 + u AS game_id, 'Player_' || u AS name,
    now() - u % 31536000 * interval '1 second' AS at
  FROM generate_series($1::bigint, $2::bigint) u`;

/** The statements that fill each table with a row for each user. Every tenth ban is active. */
const FILL = {
  'lookup.links': `
    INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
    SELECT guild_id, chat_id, game_id, name, u + 1, at, at FROM (${USERS}) users`,
  'moderation.punishments': `
    INSERT INTO moderation.punishments (guild_id, kind, game_id, place_id, game_username, reason, moderator_game_id,
      created_at, expires_at, ended_at, updated_at)
    SELECT guild_id, 'ban', game_id, 0, name, 'Cheats', 700000000 + u % 200, at, 'infinity',
      CASE WHEN u % 20 < 18 THEN at + interval '1 hour' END, at FROM (${USERS}) users`,
  'moderation.log': `
    INSERT INTO moderation.log (guild_id, action, punishment_id, game_id, place_id, game_username, reason,
      moderator_game_id, created_at)
    SELECT guild_id, 'ban', u + 1, game_id, 0, name, 'Cheats', 700000000 + u % 200, at FROM (${USERS}) users`,
} as const;

const INDEXES = `
  SELECT format('%I.%I', schemaname, indexname) AS name, indexdef AS definition FROM pg_indexes
  WHERE format('%I.%I', schemaname, tablename) = $1
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conname = indexname)`;

/** Adds links, bans and log rows for the users from `first` to `end` - 1. Creates secondary indexes afterwards. */
export async function addUsers(url: string, first: number, end: number, report: (text: string) => void) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const [table, fill] of Object.entries(FILL)) {
      const begun = performance.now();
      const { rows: indexes } = await client.query<{ name: string; definition: string }>(INDEXES, [table]);
      for (const { name } of indexes) await client.query(`DROP INDEX ${name}`);
      for (let from = first; from < end; from += ROWS_PER_INSERT) {
        await client.query(fill, [from, Math.min(from + ROWS_PER_INSERT, end) - 1]);
      }
      for (const { definition } of indexes) await client.query(definition);
      await client.query(`VACUUM (ANALYZE) ${table}`);
      report(`${table}: ${end} rows (${Math.round((performance.now() - begun) / 1000)} s)`);
    }
    await client.query('CHECKPOINT');
  } finally {
    await client.end();
  }
}

/** Creates a key for each guild. */
export async function makeKeys(admin: GrpcClient<KeyAdminServiceService>): Promise<Guild[]> {
  const numbers = Array.from({ length: GUILDS }, (_, number) => number);
  const guilds = await inParallel(numbers, MAX_CONCURRENT_CALLS, async (number) => {
    const id = guildId(number);
    return { id, key: await makeKey(admin, id, { scopes: [...SCOPES], rateLimit: KEY_CAP }) };
  });
  return guilds.filter((guild) => guild !== undefined);
}

/** Creates one key of a guild and returns it. */
export async function makeKey(
  admin: GrpcClient<KeyAdminServiceService>,
  guild: string,
  { scopes, rateLimit }: { scopes: string[]; rateLimit: number },
): Promise<string> {
  const request = { guildId: guild, name: 'bench', legacy: false, scopes, rateLimit, ipAllowlist: [], actor: 'bench' };
  // On a busy machine a call may time out. A key that was created all the same is not used.
  for (let attempt = 1; ; attempt++) {
    try {
      return (await admin.createKey(request)).secret;
    } catch (error) {
      const isTimeout = error instanceof ApiError && error.code === 'UNAVAILABLE';
      if (!isTimeout || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Creates the users, the guilds and their keys. */
export async function makeWorld(system: RunningSystem, users: number): Promise<World> {
  console.log(`Inserting ${users} users of ${GUILDS} guilds …`);
  await addUsers(system.databaseUrl, 0, users, console.log);
  const { client, close } = system.admin();
  try {
    const guilds = await makeKeys(client);
    const first = guilds[0]?.id ?? '';
    return {
      guilds,
      users,
      narrowKey: await makeKey(client, first, { scopes: ['lookup:read'], rateLimit: 100_000 }),
      spentKey: await makeKey(client, first, { scopes: ['lookup:read'], rateLimit: 1 }),
    };
  } finally {
    close();
  }
}
