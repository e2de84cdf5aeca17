import { ARCHITECTURES, type Architecture, type DebianPackage } from './lock.ts';

/** One paragraph of a file of Debian's archive: its fields by name. */
export type Paragraph = Record<string, string>;

/** Parses the format of Debian's control files; lines that continue a field are joined to it. */
export function paragraphs(text: string): Paragraph[] {
  return text
    .split(/\n{2,}/)
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const fields = part.replaceAll(/\n[ \t]/g, ' ').split('\n');
      return Object.fromEntries(
        fields.filter(Boolean).map((line) => {
          const colon = line.indexOf(':');
          return [line.slice(0, colon), line.slice(colon + 1).trim()];
        }),
      );
    });
}

/** The SHA-256 of a file that a Release file lists. */
export function listedChecksum(release: string, path: string): string {
  const [, section = ''] = /^SHA256:\n((?: .*\n)*)/m.exec(release) ?? [];
  const line = section.split('\n').find((each) => each.endsWith(` ${path}`));
  const [checksum] = line?.trim().split(/\s+/) ?? [];
  if (!checksum) throw new Error(`the Release file lists no ${path}`);
  return checksum;
}

/** Throws if what Debian signed is the index of another suite, or too old: a mirror may return an outdated one. */
export function checkRelease(release: string, suite: string, now: Date): void {
  const [fields = {}] = paragraphs(release);
  const { Codename: codename, Suite: name, 'Valid-Until': until } = fields;
  if (codename !== suite && name !== suite) throw new Error(`the Release file of ${suite} is that of ${codename}`);
  if (until !== undefined && !(new Date(until) > now)) {
    throw new Error(`the Release file of ${suite} was valid until ${until}: use another mirror`);
  }
}

/** The packages of an index with one of these names. */
export function named(index: string, names: readonly string[], archive: DebianPackage['archive']): DebianPackage[] {
  return paragraphs(index)
    .filter((each) => names.includes(each['Package'] ?? ''))
    .map((each) => ({
      name: each['Package'] ?? '',
      version: each['Version'] ?? '',
      architecture: architectureOf(each['Architecture']),
      archive,
      path: each['Filename'] ?? '',
      size: Number(each['Size']),
      sha256: each['SHA256'] ?? '',
    }));
}

function architectureOf(name: string | undefined): Architecture | 'all' {
  const found = [...ARCHITECTURES, 'all' as const].find((each) => each === name);
  if (found === undefined) throw new Error(`unexpected architecture ${name}`);
  return found;
}
