import type { Deb } from '../archive/deb.ts';
import { complete, directory, type Entry, file, link } from '../archive/entry.ts';
import type { DebianPackage } from './lock.ts';

/** The user of the processes, as in the Dockerfile. */
export const USER = 1000;

const PASSWD = [
  'root:x:0:0:root:/root:/sbin/nologin',
  `guild:x:${USER}:${USER}::/nonexistent:/sbin/nologin`,
  'nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin',
];
const GROUP = ['root:x:0:', `guild:x:${USER}:`, 'nogroup:x:65534:'];

/** Where programs look for certificates: one file with all of them, which Debian writes at installation. */
const CERTIFICATES = 'usr/share/ca-certificates/';
const BUNDLE = 'etc/ssl/certs/ca-certificates.crt';

/** Programs, manuals, settings that need a shell, and tables of iconv, which Node has itself. The licences under usr/share/doc and common-licenses stay. */
const LEFT_OUT = [
  /^usr\/(bin|games|include|local|sbin|src)(\/|$)/,
  /^usr\/lib\/(apt|systemd|[^/]+\/gconv)(\/|$)/,
  /^usr\/share\/(base-files|bug|debconf|dict|gcc|gdb|info|lintian|locale|man|misc|perl5)(\/|$)/,
  /^usr\/share\/doc\/[^/]+\/(?!copyright$)/,
  /^etc\/(apt|ca-certificates|cron\.\w+|default|ld\.so\.conf\.d|profile\.d|update-motd\.d|skel)(\/|$)/,
  /^var\/(?!lib(\/|$))/,
  /^(boot|dev|home|media|mnt|opt|proc|srv|sys)(\/|$)/,
];

const MERGED = /^(bin|sbin|lib|lib32|lib64|libx32)(?=\/|$)/;

/** The root file system of the image without Node and the application: libraries, certificates, time zones. No shell. */
export function rootFiles(packages: readonly { facts: DebianPackage; deb: Deb }[]): Entry[] {
  const entries = packages.flatMap(({ facts, deb }) => [
    ...deb.files.map(owned).map(merged).filter(isKept),
    // Scanners for vulnerabilities read these where there is no package manager.
    file(`var/lib/dpkg/status.d/${facts.name}`, deb.control),
  ]);
  return complete([
    ...entries,
    file(BUNDLE, certificateBundle(entries)),
    file('etc/passwd', `${PASSWD.join('\n')}\n`),
    file('etc/group', `${GROUP.join('\n')}\n`),
    file('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n'),
    directory('tmp', 0o1777),
    // Mount points, for a root file system that is read-only.
    ...['dev', 'proc', 'sys', 'run'].map((path) => directory(path)),
    ...['bin', 'sbin', 'lib', 'lib64'].map((path) => link(path, `usr/${path}`)),
    ...['usr/bin', 'usr/sbin', 'usr/lib64'].map((path) => directory(path)),
  ]);
}

const owned = (entry: Entry): Entry => ({ ...entry, uid: 0, gid: 0 });

/** Debian's root has its libraries and programs below /usr; older packages still name the folders of the root. */
const merged = (entry: Entry): Entry => ({ ...entry, path: entry.path.replace(MERGED, 'usr/$1') });

const isKept = ({ path, type }: Entry): boolean =>
  !LEFT_OUT.some((pattern) => pattern.test(path)) && !(type === 'link' && /^usr\/(bin|sbin|lib|lib64)$/.test(path));

function certificateBundle(entries: readonly Entry[]): string {
  const certificates = complete(entries).filter(({ path }) => path.startsWith(CERTIFICATES) && path.endsWith('.crt'));
  const texts = certificates.map((entry) => (entry.type === 'file' ? entry.content.toString().trim() : ''));
  if (texts.length < 50) throw new Error(`there are only ${texts.length} certificates`);
  return `${texts.join('\n')}\n`;
}
