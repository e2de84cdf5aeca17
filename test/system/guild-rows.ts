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
