import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePorts } from '#local/ports.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import { isListening, type RunningSystem, startProcess } from '../running.ts';
import type { World } from '../world.ts';
import type { Subject } from './subjects.ts';

const FOLDER = join(import.meta.dirname, '../yardsticks/same-job');
const LIMITS = readFileSync(join(import.meta.dirname, '../../../services/kit/limits/limits.lua'), 'utf8');

/** What the yardsticks run, on the same tables as the system where another program may write to them. */
const STATEMENTS = {
  lookup: 'SELECT chat_id, game_id, game_username FROM lookup.links WHERE guild_id = $1 AND game_id = $2',
  heartbeat: `WITH saved AS (
      INSERT INTO yardstick.servers (guild_id, server_id, place_id, player_count, max_players, heartbeat_at)
      VALUES ($1, $2, $3, $4, $5, now())
      ON CONFLICT (guild_id, server_id) DO UPDATE SET place_id = excluded.place_id,
        player_count = excluded.player_count, max_players = excluded.max_players, heartbeat_at = excluded.heartbeat_at)
    SELECT command_id::text, type FROM activity.commands
    WHERE guild_id = $1 AND server_id = $2 AND acked_at IS NULL AND expires_at > now() ORDER BY place LIMIT 20`,
  statuses: `SELECT game_id, kind, reason, extract(epoch FROM created_at)::bigint AS created_at,
      extract(epoch FROM NULLIF(expires_at, 'infinity'))::bigint AS expires_at, moderator_game_id::text AS banned_by
    FROM moderation.punishments
    WHERE guild_id = $1 AND game_id = ANY($2::bigint[]) AND place_id = 0 AND ended_at IS NULL AND expires_at > now()
    UNION ALL
    SELECT game_id, 'flag', '', 0, NULL, NULL FROM moderation.shield
    WHERE guild_id IN ($1, '0') AND game_id = ANY($2::bigint[]) AND expires_at > now()`,
};

const TABLES = `CREATE SCHEMA IF NOT EXISTS yardstick;
  CREATE TABLE IF NOT EXISTS yardstick.servers (guild_id text COLLATE "C", server_id text COLLATE "C", place_id bigint,
    player_count int, max_players int, heartbeat_at timestamptz, PRIMARY KEY (guild_id, server_id))`;

const POSTGREST = 'PostgREST behind nginx with Lua';

/** A yardstick that cannot be measured, and why. */
export interface Missing {
  name: string;
  missing: string;
}

/** Starts the programs that do the same job on the same database and Redis. Those that cannot be built are named. */
export async function startYardsticks(
  folder: string,
  system: RunningSystem,
  world: World,
): Promise<(Subject | Missing)[]> {
  const { postgres = 0, redis = 0 } = await system.processes();
  await createTables(system.databaseUrl);
  const start = async (name: string, command: [string, ...string[]]): Promise<Subject> => {
    const [port = 0] = await freePorts(1);
    const file = join(folder, `${name}.json`);
    writeFileSync(file, JSON.stringify(settingsOf(system, world, port)));
    const child = await startProcess({ command: [...command, file], isReady: () => isListening(port) });
    return {
      name,
      kind: 'yardstick',
      port,
      processes: { gateway: [], services: [child.pid], postgres: [postgres], redis: [redis] },
      stop: async () => void (await child.stop(5_000)),
    };
  };
  return [
    existsSync(join(FOLDER, 'node_modules/fastify'))
      ? await start('Fastify and pg', [process.execPath, join(FOLDER, 'fastify.js')])
      : { name: 'Fastify and pg', missing: `run npm ci in ${FOLDER}` },
    buildsGo() ? await start('Go and pgx', [GO_PROGRAM]) : { name: 'Go and pgx', missing: 'it cannot be built here' },
    { name: POSTGREST, missing: 'Debian 12 has no package of PostgREST, and it is no Go program' },
  ];
}

const GO_PROGRAM = join(FOLDER, 'build/yardstick');

function buildsGo(): boolean {
  try {
    execFileSync('go', ['build', '-o', GO_PROGRAM, '.'], { cwd: FOLDER, stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

async function createTables(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(TABLES);
  } finally {
    await client.end();
  }
}

function settingsOf(system: RunningSystem, { guilds }: World, port: number) {
  const hashOf = (key: string) => createHash('sha256').update(key).digest('hex');
  const keys = Object.fromEntries(guilds.map(({ id, key }) => [hashOf(key), { guildId: id, scopes: SCOPES }]));
  return {
    port,
    databaseUrl: system.databaseUrl,
    redis: system.up.redis,
    script: LIMITS,
    statements: STATEMENTS,
    keys,
  };
}
