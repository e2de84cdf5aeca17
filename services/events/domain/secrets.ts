import type { Queryable } from '#kit/postgres/pool.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import { findSecretsOfKeys, replaceSecrets } from '../store/secrets.ts';

/** The purpose of the key that encrypts the secrets of webhooks. */
const PURPOSE = 'webhook-secret';
const BATCH = 500;

export const encryptSecret = (ring: KeyRing, secret: string): Buffer => ring.encrypt(PURPOSE, secret);
export const decryptSecret = (ring: KeyRing, encrypted: Buffer): string => ring.decrypt(PURPOSE, encrypted);

/** The IDs of the keys that decrypt secrets; the first one also encrypts. An ID is the start of an HMAC, and tells nothing else. */
const keyIds = (ring: KeyRing) => ring.macs(PURPOSE, 'key').map((mac) => mac.toString('base64url', 0, 9));

/** Returns the ID of the key that encrypts secrets now. */
export const newestKey = (ring: KeyRing): string => keyIds(ring)[0] ?? '';

/** Encrypts the secrets of an older key with the newest one, so that the older one is not needed after a rotation. */
export async function renewSecrets(on: Queryable, ring: KeyRing): Promise<void> {
  const [newest = '', ...older] = keyIds(ring);
  const renewed = (encrypted: Buffer) => encryptSecret(ring, decryptSecret(ring, encrypted));
  for (let found = older.length > 0 ? BATCH : 0; found === BATCH; ) {
    const rows = await findSecretsOfKeys(on, older, BATCH);
    for (const row of rows) {
      const previousSecret = row.previousSecret && renewed(row.previousSecret);
      await replaceSecrets(on, row, { secret: renewed(row.secret), previousSecret, secretKey: newest });
    }
    found = rows.length;
  }
}
