import type { Queryable } from '#kit/postgres/pool.ts';
import { ListConditions, microsOf, type TimePosition } from './time-lists.ts';

export interface Game {
  universeId: number;
  placeId: number;
  name: string;
  pluginVersion: string | undefined;
}

/** Takes the guild's places lock, so that only one transaction at a time adds places to the guild. */
export async function lockGames(transaction: Queryable, guildId: string): Promise<void> {
  const name = `activity.games\n${guildId}`;
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}

/** Returns the number of registered places of a guild. */
export async function countGames(on: Queryable, guildId: string): Promise<number> {
  const [row] = await on.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM activity.games WHERE guild_id = $1',
    [guildId],
  );
  return row?.count ?? 0;
}

/**
 * Inserts a place of a game and returns its number, which is unique within the guild. `lockGames` must have been called
 * first.
 */
export async function insertGame(on: Queryable, guildId: string, game: Game, now: Date): Promise<number> {
  const [registered] = await on.query<{ id: number }>(
    `INSERT INTO activity.games (guild_id, universe_id, place_id, name, plugin_version, registered_at, updated_at, id)
     OVERRIDING SYSTEM VALUE
     SELECT $1, $2::bigint, $3::bigint, $4, $5, $6::timestamptz, $6,
       (SELECT coalesce(max(id), 0) + 1 FROM activity.games WHERE guild_id = $1)
     RETURNING id`,
    [guildId, game.universeId, game.placeId, game.name, game.pluginVersion, now],
  );
  if (!registered) throw new Error('a place was not returned after it was inserted');
  return registered.id;
}

/**
 * Updates a registered place of a game and returns the number that it got when it was registered; undefined if it is
 * not registered.
 */
export async function updateGame(on: Queryable, guildId: string, game: Game, now: Date): Promise<number | undefined> {
  const [registered] = await on.query<{ id: number }>(
    `UPDATE activity.games SET name = $4, plugin_version = $5, updated_at = $6
     WHERE guild_id = $1 AND universe_id = $2 AND place_id = $3 RETURNING id`,
    [guildId, game.universeId, game.placeId, game.name, game.pluginVersion, now],
  );
  return registered?.id;
}

export interface Action {
  actionId: string;
  actorGameId: number;
  type: string;
  targetGameId: number | undefined;
  placeId: number | undefined;
  serverId: string | undefined;
  details: Record<string, unknown> | undefined;
  occurredAt: Date;
}

/** Inserts a staff action; returns false if the guild already has an action with the same ID. */
export async function insertAction(on: Queryable, guildId: string, action: Action, now: Date): Promise<boolean> {
  const logged = await on.query(
    `INSERT INTO activity.actions (guild_id, action_id, actor_game_id, action_type, target_game_id, place_id,
       server_id, details, occurred_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (guild_id, action_id) DO NOTHING RETURNING action_id`,
    [
      guildId,
      action.actionId,
      action.actorGameId,
      action.type,
      action.targetGameId,
      action.placeId,
      action.serverId,
      action.details && JSON.stringify(action.details),
      action.occurredAt,
      now,
    ],
  );
  return logged.length > 0;
}

/** A stored staff action. Erasing the target clears `targetGameId` and `details`. */
export interface StoredAction {
  actionId: string;
  actorGameId: number;
  type: string;
  targetGameId: number | null;
  placeId: number | null;
  serverId: string | null;
  details: Record<string, unknown> | null;
  occurredAt: Date;
  loggedAt: Date;
}

export interface ActionFilters {
  actorGameId?: number | undefined;
  targetGameId?: number | undefined;
  type?: string | undefined;
  /** Selects actions that occurred from the time `from`, inclusive, up to the time `before`, exclusive. */
  from?: Date | undefined;
  before?: Date | undefined;
}

/** Returns up to `limit` actions that occurred before a position, the newest first. */
export function listActions(
  on: Queryable,
  guildId: string,
  { actorGameId, targetGameId, type, from, before }: ActionFilters,
  { after, limit }: { after: TimePosition | undefined; limit: number },
): Promise<(StoredAction & { micros: string })[]> {
  const list = new ListConditions(guildId);
  if (actorGameId !== undefined) list.add((value) => `actor_game_id = ${value}`, actorGameId);
  if (targetGameId !== undefined) list.add((value) => `target_game_id = ${value}`, targetGameId);
  if (type !== undefined) list.add((value) => `action_type = ${value}`, type);
  list.addTimes('occurred_at', 'action_id', { from, before, after });
  return on.query(
    `SELECT action_id AS "actionId", actor_game_id AS "actorGameId", action_type AS type,
       target_game_id AS "targetGameId", place_id AS "placeId", server_id AS "serverId", details,
       occurred_at AS "occurredAt", created_at AS "loggedAt", ${microsOf('occurred_at')} AS micros
     FROM activity.actions WHERE guild_id = $1${list.sql} ORDER BY occurred_at DESC, action_id DESC LIMIT ${list.parameter(limit)}`,
    list.values,
  );
}
