import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { z } from 'zod';

/** How the next ID tokens differ from valid ones, for tests of those who must reject them. */
export const forgerySchema = z.strictObject({
  /** Claims that replace the valid ones; null leaves a claim out. */
  claims: z.record(z.string(), z.json()).default({}),
  /** `none` for a token without a signature. */
  alg: z.enum(['ES256', 'none']).default('ES256'),
  /** Sign with a key that is not published, under the ID of the published one. */
  other_key: z.boolean().default(false),
});
export type Forgery = z.output<typeof forgerySchema>;

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs ID tokens with a key of its own. */
export class IdTokenSigner {
  readonly #id = randomUUID();
  readonly #key = newKey();
  readonly #other = newKey();

  /** The published key, as a JSON Web Key Set. */
  get keySet(): object {
    return { keys: [{ ...this.#key.publicKey.export({ format: 'jwk' }), kid: this.#id, alg: 'ES256', use: 'sig' }] };
  }

  sign(claims: object, { claims: forged, alg, other_key: isOther }: Forgery): string {
    const all = Object.entries({ ...claims, ...forged }).filter(([, value]) => value !== null);
    const content = `${encode({ alg, typ: 'JWT', kid: this.#id })}.${encode(Object.fromEntries(all))}`;
    if (alg === 'none') return `${content}.`;
    return `${content}.${signature(content, (isOther ? this.#other : this.#key).privateKey)}`;
  }
}

function signature(content: string, key: KeyObject): string {
  return sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}
