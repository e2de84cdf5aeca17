import type { SigningKey } from './key.ts';

export const PREDICATE = {
  /** What cosign looks for when it verifies an image. */
  signature: 'https://sigstore.dev/cosign/sign/v1',
  provenance: 'https://slsa.dev/provenance/v1',
  bill: 'https://cyclonedx.org/bom',
} as const;

const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
export const BUNDLE_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json';

export type Subject = { name: string; digest: { sha256: string } };

/** What is claimed about artefacts: an in-toto statement. */
export type Statement = { _type: string; subject: Subject[]; predicateType: string; predicate: unknown };

export const statementOf = (subject: Subject[], predicateType: string, predicate: unknown): Statement => ({
  _type: 'https://in-toto.io/Statement/v1',
  subject,
  predicateType,
  predicate,
});

/** What is signed in a DSSE envelope, so that the type of the payload cannot be exchanged. */
export const signedBytes = (payload: Buffer, type = PAYLOAD_TYPE): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `), payload]);

/** A signed statement as a Sigstore bundle, which cosign verifies with the public key. */
export function bundleOf(statement: Statement, key: SigningKey): Buffer {
  const payload = Buffer.from(JSON.stringify(statement));
  return Buffer.from(
    JSON.stringify({
      mediaType: BUNDLE_TYPE,
      verificationMaterial: { publicKey: { hint: key.hint } },
      dsseEnvelope: {
        payload: payload.toString('base64'),
        payloadType: PAYLOAD_TYPE,
        signatures: [{ sig: key.sign(signedBytes(payload)) }],
      },
    }),
  );
}
