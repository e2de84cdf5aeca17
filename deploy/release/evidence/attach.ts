import { ANNOTATION, type Descriptor, MEDIA, tagOf } from '../oci/descriptor.ts';
import type { Layout } from '../oci/layout.ts';
import type { SigningKey } from './key.ts';
import { BUNDLE_TYPE, bundleOf, PREDICATE, type Statement, statementOf } from './statement.ts';

const SIMPLE_SIGNING = 'application/vnd.dev.cosign.simplesigning.v1+json';
const COSIGN_SIGNATURE = 'dev.cosignproject.cosign/signature';
export const BILL_TYPE = 'application/vnd.cyclonedx+json';

/** A document that belongs to an artefact, which clients find as its referrer. */
type Document = { type: string; title: string; content: Buffer; annotations?: Record<string, string> };

export function attach(
  layout: Layout,
  subject: Descriptor,
  { type, title, content, annotations }: Document,
): Descriptor {
  const layer = layout.add(type, content);
  return layout.addManifest({
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    artifactType: type,
    config: layout.add(MEDIA.empty, Buffer.from('{}')),
    layers: [{ ...layer, annotations: { [ANNOTATION.title]: title } }],
    subject: plain(subject),
    ...(annotations && { annotations }),
  });
}

/** Attaches a signed statement, as cosign 3 does. */
export function attachStatement(
  layout: Layout,
  subject: Descriptor,
  statement: Statement,
  key: SigningKey,
): Descriptor {
  const content = bundleOf(statement, key);
  return attach(layout, subject, {
    type: BUNDLE_TYPE,
    title: `${tagOf(layout.add(BUNDLE_TYPE, content).digest)}.sigstore.json`,
    content,
    annotations: {
      'dev.sigstore.bundle.content': 'dsse-envelope',
      'dev.sigstore.bundle.predicateType': statement.predicateType,
    },
  });
}

/**
 * Signs an artefact twice: as a statement for cosign 3, and as a "simple signing" payload under a tag for cosign 2 and for
 * other programs that verify signatures.
 */
export function signArtefact(layout: Layout, subject: Descriptor, name: string, key: SigningKey): void {
  const [, hex = ''] = subject.digest.split(':');
  attachStatement(layout, subject, statementOf([{ name, digest: { sha256: hex } }], PREDICATE.signature, {}), key);
  const payload = Buffer.from(
    JSON.stringify({
      critical: {
        identity: { 'docker-reference': name },
        image: { 'docker-manifest-digest': subject.digest },
        type: 'cosign container image signature',
      },
      optional: null,
    }),
  );
  const layer = { ...layout.add(SIMPLE_SIGNING, payload), annotations: { [COSIGN_SIGNATURE]: key.sign(payload) } };
  const config = layout.addJson(MEDIA.config, {
    architecture: '',
    os: '',
    config: {},
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  });
  const tag = `${tagOf(subject.digest)}.sig`;
  layout.addManifest({ schemaVersion: 2, mediaType: MEDIA.manifest, config, layers: [layer] }, tag);
}

const plain = ({ mediaType, digest, size }: Descriptor): Descriptor => ({ mediaType, digest, size });
