import { createHash } from 'node:crypto';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import * as store from '../../store/audit.ts';
import { forgedCheckpoint } from './checkpoints.ts';

/** Entries that one call recomputes. */
const PART = 5_000;
const NOTHING = Buffer.alloc(0);

/** Where a chain breaks first. */
export interface Break {
  sequence: number;
  reason: string;
}

export interface Part {
  entries: number;
  firstBreak: Break | undefined;
  /** Where the next part begins; undefined when the chain is at its end, or broken. */
  next: Position | undefined;
  last: { sequence: number; chain: Buffer };
  checkpoint: number;
}

/** The last entry that was recomputed. */
export interface Position {
  sequence: number;
  chain: Buffer;
}

/**
 * Recomputes a part of a guild's chain from what is stored, in this process and not in the database, and compares it
 * with the checkpoints and, at its end, with the head. `from` is undefined for the first part.
 */
export async function verifyPart(
  database: Queryable,
  ring: KeyRing,
  guildId: string,
  from: Position | undefined,
): Promise<Part> {
  const head = (await store.selectHead(database, guildId)) ?? { guildId, sequence: 0, chain: NOTHING };
  const checkpoints = await store.selectCheckpoints(database, guildId);
  const rows = await store.selectLinks(database, guildId, from?.sequence ?? 0, PART);
  const result = { last: head, checkpoint: checkpoints.at(-1)?.sequence ?? 0 };
  const broken = (sequence: number, reason: string, entries = 0): Part => ({
    ...result,
    entries,
    firstBreak: { sequence, reason },
    next: undefined,
  });
  const forged = forgedCheckpoint(ring, checkpoints);
  if (forged)
    return broken(forged.sequence, 'the checkpoint is not signed by auth, or under a secret dropped too soon');
  const bySequence = new Map(checkpoints.map((checkpoint) => [checkpoint.sequence, checkpoint]));
  const start = from ?? beginningOf(rows[0]?.sequence, head, bySequence);
  if (!start) return broken(rows[0]?.sequence ?? 1, 'the entries before it are gone, and no checkpoint ends there');
  let { sequence, chain } = start;
  for (const [entries, row] of rows.entries()) {
    const reason = faultOf(row, sequence, chain, bySequence.get(row.sequence));
    if (reason) return broken(Math.min(row.sequence, sequence + 1), reason, entries);
    ({ sequence, chain } = row);
  }
  if (rows.length === PART) return { ...result, entries: PART, firstBreak: undefined, next: { sequence, chain } };
  const after = (await store.selectHead(database, guildId)) ?? head;
  const reason = faultOfEnd({ sequence, chain }, head, after, result.checkpoint);
  if (reason) return broken(sequence + 1, reason, rows.length);
  return { ...result, entries: rows.length, firstBreak: undefined, next: undefined };
}

/** What the first entry follows: nothing, or the checkpoint behind which everything was pruned. */
function beginningOf(
  first: number | undefined,
  head: store.Head,
  checkpoints: ReadonlyMap<number, store.Checkpoint>,
): Position | undefined {
  if (first === 1 || (first === undefined && head.sequence === 0)) return { sequence: 0, chain: NOTHING };
  return checkpoints.get(first === undefined ? head.sequence : first - 1);
}

function faultOf(
  row: store.LinkRow,
  before: number,
  chain: Buffer,
  checkpoint: store.Checkpoint | undefined,
): string | undefined {
  if (row.sequence !== before + 1) return 'an entry is missing';
  if ((row.salt === null) !== (row.text === null)) return 'a part of what the entry says is missing';
  if (row.salt !== null && !sha256(row.salt, row.text ?? '').equals(row.digest))
    return 'what the entry says was changed';
  if (!sha256(chain, row.link).equals(row.chain)) return 'the entry was changed, or moved from another place';
  if (checkpoint && !checkpoint.chain.equals(row.chain)) return 'the checkpoint was signed over another chain';
  return undefined;
}

/** The head was read before the entries and again after them: what is appended meanwhile lies between the two. */
function faultOfEnd(end: Position, before: Position, after: Position, checkpoint: number): string | undefined {
  if (end.sequence < checkpoint) return `the entries up to the signed checkpoint ${checkpoint} are missing`;
  if (end.sequence < before.sequence) return `the entries up to ${before.sequence} are missing`;
  if (end.sequence > after.sequence) return 'the recorded end of the chain was moved back';
  const head = [before, after].find(({ sequence }) => sequence === end.sequence);
  return head && !head.chain.equals(end.chain) ? 'the recorded end of the chain was changed' : undefined;
}

function sha256(first: Buffer, text: string): Buffer {
  return createHash('sha256').update(first).update(text).digest();
}
