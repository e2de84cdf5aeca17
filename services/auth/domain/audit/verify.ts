import { createHash } from 'node:crypto';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import * as store from '../../store/audit.ts';
import { checkSignatures } from './checkpoints.ts';

/** The number of audit entries that one call of verifyPart recomputes. */
const PART_SIZE = 5_000;
/** The chain value before the first audit entry of a guild. */
const EMPTY_CHAIN = Buffer.alloc(0);
/** A number that is lower than the sequence number of any checkpoint, even of one that an attacker inserted. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER;
const FORGED = 'the checkpoint is not signed by auth, or its secret was removed too soon';

/** The first place at which an audit chain is broken. */
export interface ChainBreak {
  /** The sequence number of the audit entry that is changed or missing. */
  sequence: number;
  reason: string;
}

/** The result of verifying a part of an audit chain. */
export interface VerifiedPart {
  /** The number of audit entries in this part that are intact. */
  entries: number;
  firstBreak: ChainBreak | undefined;
  /**
   * The last audit entry of this part, at which the next part continues; undefined at the end of the chain and if the
   * chain is broken.
   */
  next: store.ChainPosition | undefined;
  /** The last position of the audit chain as the database recorded it. */
  last: store.ChainPosition;
  /** The sequence number of the newest audit checkpoint; 0 if there is none. */
  checkpoint: number;
}

/**
 * Recomputes a part of a guild's audit chain from the stored entries, and compares the result with the checkpoints of
 * these entries and, at the end of the chain, with the recorded end. This process computes the chain, because the
 * database itself may have been tampered with. `from` is the last entry of the part before; undefined for the first part.
 */
export async function verifyPart(
  database: Queryable,
  ring: KeyRing,
  guildId: string,
  from: store.ChainPosition | undefined,
): Promise<VerifiedPart> {
  const head = (await store.selectHead(database, guildId)) ?? { guildId, sequence: 0, chain: EMPTY_CHAIN };
  // Read before the entries: the entries up to it are stored by then, even while others are appended and signed.
  const checkpoint = (await store.selectNewestCheckpoints(database, guildId))[0]?.sequence ?? 0;
  const rows = await store.selectLinks(database, guildId, from?.sequence ?? 0, PART_SIZE);
  const isEnd = rows.length < PART_SIZE;
  const last = rows.at(-1)?.sequence ?? 0;
  const range = { after: from?.sequence ?? BEFORE_ALL, to: isEnd ? Math.max(last, checkpoint) : last };
  const checkpoints = await store.selectCheckpoints(database, guildId, range);
  const result = { last: head, checkpoint };
  const broken = (sequence: number, reason: string, entries = 0): VerifiedPart => ({
    ...result,
    entries,
    firstBreak: { sequence, reason },
    next: undefined,
  });
  const { signed, forged } = checkSignatures(ring, checkpoints);
  if (forged) return broken(forged.sequence, FORGED);
  const start = from ?? startOf(rows[0]?.sequence, head, signed);
  if (!start) return broken(rows[0]?.sequence ?? 1, 'the entries before it are missing, and no checkpoint covers them');
  const bySequence = Map.groupBy(checkpoints, ({ sequence }) => sequence);
  let { sequence, chain } = start;
  for (const [entries, row] of rows.entries()) {
    const reason = faultOf(row, sequence, chain, bySequence.get(row.sequence));
    if (reason) return broken(Math.min(row.sequence, sequence + 1), reason, entries);
    ({ sequence, chain } = row);
  }
  if (!isEnd) return { ...result, entries: PART_SIZE, firstBreak: undefined, next: { sequence, chain } };
  const after = (await store.selectHead(database, guildId)) ?? head;
  const reason = faultOfEnd({ sequence, chain }, head, after, checkpoint);
  if (reason) return broken(sequence + 1, reason, rows.length);
  return { ...result, entries: rows.length, firstBreak: undefined, next: undefined };
}

/** The newest checkpoint of an audit chain, at which the verification of newer entries can start. */
export interface NewestCheckpoint {
  /** The entry of the checkpoint; undefined if the chain has none, or not one that auth signed. */
  position: store.ChainPosition | undefined;
  /** The IDs of the keys that have signed it. */
  keyIds: string[];
  /** The fault if auth did not sign the checkpoint. */
  firstBreak: ChainBreak | undefined;
}

/** Reads the newest checkpoint of a guild's audit chain, and verifies its signature. */
export async function readNewestCheckpoint(
  database: Queryable,
  ring: KeyRing,
  guildId: string,
): Promise<NewestCheckpoint> {
  const { signed, forged } = checkSignatures(ring, await store.selectNewestCheckpoints(database, guildId));
  if (forged) return { position: undefined, keyIds: [], firstBreak: { sequence: forged.sequence, reason: FORGED } };
  return { position: signed[0], keyIds: signed.map(({ keyId }) => keyId), firstBreak: undefined };
}

/**
 * Returns the position before the first stored audit entry: the beginning of the chain, or the checkpoint up to which
 * entries were deleted.
 */
function startOf(
  first: number | undefined,
  head: store.Head,
  signed: readonly store.Checkpoint[],
): store.ChainPosition | undefined {
  if (first === 1 || (first === undefined && head.sequence === 0)) return { sequence: 0, chain: EMPTY_CHAIN };
  const before = first === undefined ? head.sequence : first - 1;
  return signed.find(({ sequence }) => sequence === before);
}

function faultOf(
  row: store.LinkRow,
  before: number,
  chain: Buffer,
  checkpoints: readonly store.Checkpoint[] = [],
): string | undefined {
  if (row.sequence !== before + 1) return 'an entry is missing';
  if ((row.salt === null) !== (row.text === null)) return 'some of the details of the entry are missing';
  if (row.salt !== null && !sha256(row.salt, row.text ?? '').equals(row.digest))
    return 'the details of the entry were changed';
  if (!sha256(chain, row.link).equals(row.chain)) return 'the entry was changed, or moved from another position';
  if (checkpoints.some((each) => !each.chain.equals(row.chain))) return 'the checkpoint was signed for another chain';
  return undefined;
}

/**
 * Returns the fault at the end of an audit chain. `before` and `after` are the recorded ends that were read before and
 * after the entries, because entries may be appended in between.
 */
function faultOfEnd(
  end: store.ChainPosition,
  before: store.ChainPosition,
  after: store.ChainPosition,
  checkpoint: number,
): string | undefined {
  if (end.sequence < checkpoint) return `the entries up to the signed checkpoint ${checkpoint} are missing`;
  if (end.sequence < before.sequence) return `the entries up to ${before.sequence} are missing`;
  if (end.sequence > after.sequence) return 'the recorded end of the chain was moved back';
  const head = [before, after].find(({ sequence }) => sequence === end.sequence);
  return head && !head.chain.equals(end.chain) ? 'the recorded end of the chain was changed' : undefined;
}

function sha256(first: Buffer, text: string): Buffer {
  return createHash('sha256').update(first).update(text).digest();
}
