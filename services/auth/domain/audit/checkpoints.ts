import type { KeyRing } from '#kit/security/keyring.ts';
import type { Checkpoint, Head } from '../../store/audit.ts';

const PURPOSE = 'audit-checkpoint';
const KEY_ID_LENGTH = 16;

/** Returns the text that the signature of an audit checkpoint covers. */
const statementOf = ({ guildId, sequence, chain }: Head) =>
  JSON.stringify(['audit checkpoint', guildId, sequence, chain.toString('hex')]);

const keyIdOf = (mac: Buffer) => mac.toString('hex').slice(0, KEY_ID_LENGTH);
/** Returns the IDs of the signing keys of all secrets in the key ring; the first one signs. */
const keyIdsOf = (ring: KeyRing) => ring.macs(PURPOSE, 'key id').map(keyIdOf);

/** Returns the ID of the key that signs new audit checkpoints. */
export const currentKeyId = (ring: KeyRing) => keyIdOf(ring.mac(PURPOSE, 'key id'));

/** Signs the end of an audit chain with HMAC-SHA-256. The auth service uses the signing key for nothing else. */
export function signCheckpoint(ring: KeyRing, head: Head, now: Date): Checkpoint {
  return { ...head, keyId: currentKeyId(ring), createdAt: now, signature: ring.mac(PURPOSE, statementOf(head)) };
}

/**
 * Verifies the signatures of audit checkpoints, each once. Returns those with a valid signature, and the first one that
 * the auth service did not sign. A signature under a secret that was removed from the key ring cannot be verified: its
 * checkpoint is accepted only if another checkpoint of the same entry has a valid signature.
 */
export function checkSignatures(
  ring: KeyRing,
  checkpoints: readonly Checkpoint[],
): { signed: Checkpoint[]; forged: Checkpoint | undefined } {
  const known = keyIdsOf(ring);
  const signed = checkpoints.filter((each) => ring.verifies(PURPOSE, statementOf(each), each.signature));
  const valid = new Set(signed);
  const sequences = new Set(signed.map(({ sequence }) => sequence));
  const forged = checkpoints.find(
    (each) => !sequences.has(each.sequence) || (known.includes(each.keyId) && !valid.has(each)),
  );
  return { signed, forged };
}
