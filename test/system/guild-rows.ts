import { vi } from 'vitest';
import { databaseRows } from '../postgres/database.ts';
import { dumpDatabase } from './canaries.ts';

/** Rows that a process writes at its own time: signatures of the audit. */
const WRITTEN_ANY_TIME = 'auth.audit_checkpoints';

/**
 * Returns the rows of a guild, in all tables, that contain one of the texts as a whole word. The events that report an
 * erasure are left out.
 */
export async function rowsOfGuild(url: string, guild: string, texts: readonly (string | number)[]): Promise<string[]> {
  const words = texts.map((text) => new RegExp(`(?<![0-9A-Za-z])${text}(?![0-9A-Za-z])`));
  const found: string[] = [];
  let table = '';
  for (const line of (await dumpDatabase(url)).split('\n')) {
    if (/^[a-z]+\.[a-z_]+$/.test(line)) table = line;
    const isOfGuild = line.startsWith(`(${guild},`) && !line.includes(',person.erased,');
    if (isOfGuild && table !== WRITTEN_ANY_TIME && words.some((word) => word.test(line))) found.push(line);
  }
  return found;
}

/** Waits until the decisions of a guild have become commands to its servers, which happens asynchronously. */
export async function untilDecisionsAreCommands(url: string, guild: string): Promise<void> {
  await vi.waitUntil(async () => (await pendingDecisions(url, guild)) === 0, { timeout: 60_000 });
}

async function pendingDecisions(url: string, guild: string): Promise<number> {
  const text = 'SELECT count(*)::int AS open FROM moderation.outbox WHERE guild_id = $1 AND delivered_at IS NULL';
  return (await databaseRows<{ open: number }>(url, text, [guild]))[0]?.open ?? 0;
}

const SENDERS = ['activity', 'auth', 'bindings', 'lookup', 'members', 'moderation'];

/** Waits until the events of a guild are relayed and its audit has the changes, which happens asynchronously. */
export async function untilEventsAreRecorded(url: string, guild: string): Promise<void> {
  const queues = SENDERS.map((name) => `SELECT FROM ${name}.events WHERE guild_id = $1 AND finished_at IS NULL`);
  const text = [...queues, 'SELECT FROM events.audit_entries WHERE guild_id = $1'].join(' UNION ALL ');
  await vi.waitUntil(async () => (await databaseRows(url, text, [guild])).length === 0, { timeout: 60_000 });
}
