import { expect } from 'vitest';
import { databaseRows } from '../postgres/database.ts';
import type { AcknowledgedWrite, Kind } from './steady-writer.ts';

/**
 * Where the writes of a kind are stored: each statement returns one row for each of them, as `guild/account`. Heartbeats
 * replace each other and are stored nowhere for long.
 */
const STORED: Record<Exclude<Kind, 'heartbeat'>, readonly string[]> = {
  link: [
    `SELECT guild_id || '/' || game_id AS row FROM lookup.links`,
    `SELECT guild_id || '/' || game_id AS row FROM lookup.link_history`,
    `SELECT guild_id || '/' || (data ->> 'game_id') AS row FROM events.log WHERE type = 'link.created'`,
  ],
  ban: [
    `SELECT guild_id || '/' || game_id AS row FROM moderation.punishments WHERE ended_at IS NULL`,
    `SELECT guild_id || '/' || game_id AS row FROM moderation.log`,
    `SELECT guild_id || '/' || (data ->> 'game_id') AS row FROM events.log WHERE type = 'ban.created'`,
  ],
  action: [
    `SELECT guild_id || '/' || actor_game_id AS row FROM activity.actions`,
    `SELECT guild_id || '/' || (data ->> 'actor_game_id') AS row FROM events.log WHERE type = 'staff.action'`,
  ],
};

/** The service that stores the responses to a kind of write. */
const RESPONDS: Record<Exclude<Kind, 'heartbeat'>, string> = {
  link: 'members',
  ban: 'moderation',
  action: 'activity',
};

/** Guilds whose events have a gap or a repeated number, with the first and last number and the count. */
const GAPS = `SELECT guild_id, min(seq) AS first, max(seq) AS last, count(*) AS count FROM events.log
  GROUP BY guild_id HAVING max(seq) <> count(DISTINCT seq) OR count(*) <> count(DISTINCT seq)`;

/** Expects that each acknowledged write is stored exactly once, with its response, and nothing else is. */
export async function expectStoredOnce(url: string, writes: readonly AcknowledgedWrite[]): Promise<void> {
  for (const [kind, statements] of Object.entries(STORED)) {
    const own = writes.filter((write) => write.kind === kind);
    if (own.length === 0) continue;
    const accounts = own.map(({ guild, gameId }) => `${guild}/${gameId}`).toSorted();
    for (const statement of statements) {
      expect(difference(await rowsOf(url, statement), accounts), `rows of ${statement}`).toEqual({
        missing: [],
        unexpected: [],
      });
    }
    const table = `${RESPONDS[kind as keyof typeof RESPONDS]}.idempotency`;
    const responses = `SELECT key AS row FROM ${table} WHERE status BETWEEN 200 AND 299`;
    const keys = new Set(own.map(({ key }) => key));
    const stored = (await rowsOf(url, responses)).filter((key) => keys.has(key));
    expect(difference(stored, [...keys]), `responses in ${table}`).toEqual({ missing: [], unexpected: [] });
  }
}

/** Expects that the events of each guild are numbered without gaps. */
export async function expectEventsWithoutGaps(url: string): Promise<void> {
  expect(await databaseRows(url, GAPS)).toEqual([]);
}

async function rowsOf(url: string, statement: string): Promise<string[]> {
  return (await databaseRows<{ row: string }>(url, statement)).map(({ row }) => row).toSorted();
}

/** Compares two sorted lists, in which a row that occurs twice is a difference too. */
function difference(stored: readonly string[], expected: readonly string[]) {
  const counts = new Map<string, number>();
  for (const row of stored) counts.set(row, (counts.get(row) ?? 0) + 1);
  for (const row of expected) counts.set(row, (counts.get(row) ?? 0) - 1);
  const rows = [...counts];
  return {
    missing: rows.filter(([, count]) => count < 0).map(([row]) => row),
    unexpected: rows.filter(([, count]) => count > 0).map(([row]) => row),
  };
}
