/** The maximum number of hosts in one URL: every search for the primary opens a connection to each. */
export const MAX_HOSTS = 8;

const START = /^postgres(?:ql)?:\/\/\S+$/;
const WRONG_START = 'must be a URL that begins with postgres:// or postgresql://';
const MULTI_HOST = /^(?<scheme>postgres(?:ql)?):\/\/(?:(?<user>[^/?#]*)@)?(?<hosts>[^/?#@]*)(?<rest>[^#]*)$/;
const NAME = String.raw`(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)`;
/** A host name, an IPv4 address, or an IPv6 address in brackets, without a port. */
export const HOST_NAME = new RegExp(`^${NAME}$`);
/** The same with or without a port. */
export const HOST = new RegExp(`^${NAME}(?::[0-9]{1,5})?$`);
const ATTRIBUTE = 'target_session_attrs';
/** The values of target_session_attrs that mean the server that accepts writes. */
const TARGETS = ['read-write', 'primary'];
const DEFAULT_PORT = 5432;

/**
 * Returns one URL for each host of a database URL, in its order: `postgres://u:p@h1:5432,h2:5432/db` has two. A URL with
 * a single host is returned unchanged. Throws a TypeError, whose message contains no part of the URL, if `pg` could not
 * use it.
 */
export function hostUrls(url: string): [string, ...string[]] {
  const { scheme = '', user, hosts = '', rest = '' } = MULTI_HOST.exec(url)?.groups ?? {};
  if (!hosts.includes(',')) return [url];
  const names = hosts.split(',');
  if (!names.every((name) => HOST.test(name))) throw new TypeError('must name its hosts as host:port,host:port');
  if (names.length > MAX_HOSTS) throw new TypeError(`must name at most ${MAX_HOSTS} hosts`);
  const withPorts = names.map((name) => (/:[0-9]+$/.test(name) ? name : `${name}:${DEFAULT_PORT}`));
  if (new Set(withPorts.map((name) => name.toLowerCase())).size < names.length)
    throw new TypeError('must not name a host twice');
  const urls = withPorts.map((name) =>
    singleHostUrl(`${scheme}://${user === undefined ? '' : `${user}@`}${name}${rest}`),
  );
  return urls as [string, ...string[]];
}

/** Returns what is wrong with a database URL, or undefined. */
export function databaseUrlFault(url: string): string | undefined {
  if (!START.test(url)) return WRONG_START;
  try {
    return URL.canParse(hostUrls(url)[0]) ? undefined : WRONG_START;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The host and port of a URL with a single host, for logs and errors. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host || 'the server';
}

/** Checks the URL of one host and removes target_session_attrs, which `pg` does not know. */
function singleHostUrl(text: string): string {
  const url = URL.parse(text);
  if (!url) throw new TypeError('must name its hosts as host:port,host:port');
  const wanted = url.searchParams.getAll(ATTRIBUTE);
  if (!wanted.every((value) => TARGETS.includes(value))) {
    throw new TypeError(`must have ${ATTRIBUTE}=read-write, because services write`);
  }
  if (url.searchParams.has('host') || url.searchParams.has('port')) {
    throw new TypeError('must not have the parameters host and port beside several hosts');
  }
  url.searchParams.delete(ATTRIBUTE);
  return url.href;
}
