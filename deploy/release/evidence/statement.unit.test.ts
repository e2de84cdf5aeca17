import type { KeyObject } from 'node:crypto';
import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { expect, test } from 'vitest';
import { makeKey } from '../fixture.ts';
import { bundleOf, PREDICATE, statementOf } from './statement.ts';

const STATEMENT = statementOf([{ name: 'image', digest: { sha256: 'a'.repeat(64) } }], PREDICATE.signature, {});

/** Verifies a bundle with Sigstore's own library and one trusted key, without transparency logs. */
function verify(bundle: unknown, publicKey: KeyObject): void {
  const none = { tlogs: [], ctlogs: [], timestampAuthorities: [], certificateAuthorities: [] };
  const trusted = toTrustMaterial({ mediaType: '', ...none }, () => ({ publicKey, validFor: () => true }));
  const verifier = new Verifier(trusted, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 });
  verifier.verify(toSignedEntity(bundleFromJSON(bundle)));
}

test("Sigstore's own library verifies a signed statement, and rejects another key and another payload", () => {
  const { key, publicKey } = makeKey();
  const bundle = JSON.parse(bundleOf(STATEMENT, key).toString());
  expect(() => verify(bundle, publicKey)).not.toThrow();
  expect(() => verify(bundle, makeKey().publicKey)).toThrow('signature verification failed');
  const other = { ...STATEMENT, subject: [{ name: 'image', digest: { sha256: 'b'.repeat(64) } }] };
  const payload = Buffer.from(JSON.stringify(other)).toString('base64');
  const changed = { ...bundle, dsseEnvelope: { ...bundle.dsseEnvelope, payload } };
  expect(() => verify(changed, publicKey)).toThrow('signature verification failed');
});
