/** The parts of a parsed Redis URL. */
export interface RedisTarget {
  kind: 'standalone' | 'sentinel' | 'cluster';
  tls: boolean;
  hosts: { host: string; port: number }[];
  username: string | undefined;
  password: string | undefined;
  database: number;
  /** The name under which sentinels know the primary; only with sentinels. */
  master: string | undefined;
  /** The credentials for the sentinels themselves; only with sentinels. */
  sentinelUsername: string | undefined;
  sentinelPassword: string | undefined;
}

const URL_SHAPE =
  /^(?<scheme>rediss?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<user>[^@/:]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^@/?#]+)(?:\/(?<path>[^/?#]*))?(?:\?(?<query>[^#]*))?$/;
const HOST_SHAPE = /^(?:\[(?<ipv6>[0-9A-Fa-f:.]+)\]|(?<name>[^\s:[\]]+))(?::(?<port>[0-9]{1,5}))?$/;

/**
 * Parses one of
 * - `redis://user:password@host:6379/0`
 * - `redis+sentinel://user:password@host1:26379,host2:26379/mymaster?db=0`, with the sentinels' own credentials in
 *   `&sentinel_username=…&sentinel_password=…`
 * - `redis+cluster://user:password@host1:6379,host2:6379`
 *
 * and the same with `rediss` for TLS (also to the sentinels). User, password, ports and database are optional. Characters
 * with a special meaning in a URL must be percent-encoded. The error contains no part of the URL.
 */
export function parseRedisUrl(url: string): RedisTarget {
  const parts = URL_SHAPE.exec(url)?.groups;
  if (!parts) throw new Error('must be redis://, redis+sentinel:// or redis+cluster://, or the same with rediss');
  const kind = (parts['kind'] ?? 'standalone') as RedisTarget['kind'];
  const query = new URLSearchParams(parts['query']);
  const path = decode(parts['path']);
  checkOptions(kind, query);
  return {
    kind,
    tls: parts['scheme'] === 'rediss',
    hosts: parseHosts(kind, parts['hosts'] ?? ''),
    username: decode(parts['user']),
    password: decode(parts['password']),
    database: parseDatabase(query.get('db') ?? (kind === 'sentinel' ? undefined : path), kind),
    master: kind === 'sentinel' ? requireMaster(path) : undefined,
    sentinelUsername: query.get('sentinel_username') ?? undefined,
    sentinelPassword: query.get('sentinel_password') ?? undefined,
  };
}

/**
 * Returns the error message for an invalid Redis URL, which contains no part of the URL; undefined if the URL is valid.
 */
export function redisUrlFault(url: string): string | undefined {
  try {
    parseRedisUrl(url);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function checkOptions(kind: RedisTarget['kind'], query: URLSearchParams): void {
  const known = kind === 'sentinel' ? ['db', 'sentinel_username', 'sentinel_password'] : ['db'];
  if ([...query.keys()].some((name) => !known.includes(name))) {
    throw new Error(`must not have options other than ${known.join(', ')}`);
  }
}

function parseHosts(kind: RedisTarget['kind'], hosts: string): RedisTarget['hosts'] {
  const all = hosts.split(',').map((text) => {
    const parts = HOST_SHAPE.exec(text)?.groups;
    const host = parts?.['ipv6'] ?? parts?.['name'];
    const port = Number(parts?.['port'] ?? (kind === 'sentinel' ? 26379 : 6379));
    if (host === undefined || port < 1 || port > 65535) throw new Error('must name its hosts as host:port');
    return { host, port };
  });
  if (kind === 'standalone' && all.length > 1) throw new Error('must name one host, or begin with redis+cluster://');
  return all;
}

function parseDatabase(text: string | undefined, kind: RedisTarget['kind']): number {
  if (text === undefined || text === '') return 0;
  if (!/^[0-9]{1,5}$/.test(text)) throw new Error('must name the database as a number');
  if (kind === 'cluster' && Number(text) !== 0) throw new Error('must use database 0, the only one of a cluster');
  return Number(text);
}

function requireMaster(path: string | undefined): string {
  if (!path) throw new Error('must name the primary: redis+sentinel://host:26379/mymaster');
  return path;
}

/** Decodes a percent-encoded part of a URL; undefined if the part is empty or missing. Throws if it is malformed. */
function decode(text: string | undefined): string | undefined {
  if (!text) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('must be percent-encoded');
  }
}
