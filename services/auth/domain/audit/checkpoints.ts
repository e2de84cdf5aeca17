import type { KeyRing } from '#kit/security/keyring.ts';
import type { Checkpoint, Head } from '../../store/audit.ts';

const PURPOSE = 'audit-checkpoint';
const KEY_ID_LENGTH = 16;

/** What a checkpoint signs. */
const statementOf = ({ guildId, sequence, chain }: Head) =>
  JSON.stringify(['audit checkpoint', guildId, sequence, chain.toString('hex')]);

const keyIdOf = (mac: Buffer) => mac.toString('hex').slice(0, KEY_ID_LENGTH);
/** Of every secret of the ring, the newest first. */
const keyIdsOf = (ring: KeyRing) => ring.macs(PURPOSE, 'key id').map(keyIdOf);

/** Names the key under which checkpoints are signed now. */
export const currentKeyId = (ring: KeyRing) => keyIdOf(ring.mac(PURPOSE, 'key id'));

/** Signs where a chain ends: HMAC-SHA-256 under a key that auth holds for nothing else. */
export function signCheckpoint(ring: KeyRing, head: Head, now: Date): Checkpoint {
  return { ...head, keyId: currentKeyId(ring), createdAt: now, signature: ring.mac(PURPOSE, statementOf(head)) };
}

/**
 * The first of the checkpoints that auth did not sign. One that was signed under a secret that is gone counts only beside
 * another signature of the same entry.
 */
export function forgedCheckpoint(ring: KeyRing, checkpoints: readonly Checkpoint[]): Checkpoint | undefined {
  const known = keyIdsOf(ring);
  const isSigned = (checkpoint: Checkpoint) => ring.verifies(PURPOSE, statementOf(checkpoint), checkpoint.signature);
  const signed = new Set(checkpoints.filter(isSigned).map(({ sequence }) => sequence));
  return checkpoints.find(
    (checkpoint) => !signed.has(checkpoint.sequence) || (known.includes(checkpoint.keyId) && !isSigned(checkpoint)),
  );
}
