import { ARCHITECTURES, type Architecture, type DebianLock } from '../base/lock.ts';
import { checksumOf, type NodePackage } from '../base/node.ts';
import type { Origin } from '../image/image.ts';
import { PREDICATE, type Statement, type Subject, statementOf } from './statement.ts';

/** Describes `npm run release`: deploy/release/README.md explains the parameters. */
const BUILD_TYPE = 'urn:guild-data:release:v1';

/** Something from which the release was made. */
type Dependency = { uri: string; digest: Record<string, string>; name?: string };

export type Materials = { lockfile: string; debian: DebianLock; node: Record<Architecture, NodePackage> };

/** Says from which commit, packages and programs the artefacts were made: SLSA provenance, version 1. */
export function provenanceOf(subjects: Subject[], origin: Origin, materials: Materials, builder: string): Statement {
  return statementOf(subjects, PREDICATE.provenance, {
    buildDefinition: {
      buildType: BUILD_TYPE,
      externalParameters: { version: origin.version, commit: origin.commit },
      internalParameters: { platforms: ARCHITECTURES.map((each) => `linux/${each}`) },
      resolvedDependencies: dependenciesOf(origin, materials),
    },
    runDetails: { builder: { id: builder } },
  });
}

function dependenciesOf({ commit }: Origin, { lockfile, debian, node }: Materials): Dependency[] {
  return [
    { name: 'source', uri: 'git+urn:guild-data', digest: { gitCommit: commit } },
    { name: 'npm packages', uri: 'package-lock.json', digest: { sha256: lockfile } },
    ...ARCHITECTURES.map((architecture) => node[architecture]).map((each) => ({
      uri: `pkg:npm/${each.name}@${each.version}`,
      digest: { sha512: checksumOf(each) },
    })),
    ...ARCHITECTURES.flatMap((architecture) => debian.packages[architecture]).map(debianDependency),
  ].filter(({ uri }, index, all) => all.findIndex((other) => other.uri === uri) === index);
}

const debianDependency = ({
  name,
  version,
  architecture,
  sha256,
}: DebianLock['packages']['amd64'][number]): Dependency => ({
  uri: debianUrl({ name, version, architecture }),
  digest: { sha256 },
});

/** The package URL of a Debian package. */
export const debianUrl = (each: { name: string; version: string; architecture: string }): string =>
  `pkg:deb/debian/${encodeURIComponent(each.name)}@${encodeURIComponent(each.version)}?arch=${each.architecture}&distro=debian-13`;
