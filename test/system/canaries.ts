import { Redis } from 'ioredis';
import { databaseRows } from '../postgres/database.ts';

/** Shorter secrets may occur somewhere by chance. */
const MIN_BYTES = 6;

/** The secrets that a test has used, and the texts that are searched for them. */
export class Canaries {
  readonly #secrets: { name: string; text: string }[] = [];
  readonly #places: { name: string; text: string }[] = [];

  /** `text` must not occur anywhere. For a key it is the part after the prefix, because the prefix may be shown. */
  add(name: string, text: string): void {
    if (Buffer.byteLength(text) < MIN_BYTES) throw new Error(`${name} is too short to be searched for`);
    this.#secrets.push({ name, text });
  }

  /** The secret of a key, without its prefix. */
  addKey(name: string, key: string): void {
    this.add(name, key.slice(key.lastIndexOf('_') + 1 + 6));
  }

  /** Adds a text to search; a place may have several texts. */
  place(name: string, text: string): void {
    this.#places.push({ name, text });
  }

  /** The number of searched bytes of each place. */
  get bytes(): Record<string, number> {
    const bytes: Record<string, number> = {};
    for (const { name, text } of this.#places) bytes[name] = (bytes[name] ?? 0) + Buffer.byteLength(text);
    return bytes;
  }

  /** The number of secrets. */
  get count(): number {
    return this.#secrets.length;
  }

  /** The places that contain a secret in any encoding, without the secrets themselves. */
  findings(): string[] {
    const wanted = this.#secrets.map(({ name, text }) => ({ name, spellings: encodingsOf(text) }));
    const found = this.#places.flatMap((place) =>
      wanted.flatMap(({ name, spellings }) =>
        spellings.filter(({ text }) => place.text.includes(text)).map(({ way }) => `${name} (${way}) in ${place.name}`),
      ),
    );
    return [...new Set(found)];
  }
}

/** The encodings of a text in logs, URLs, JSON and dumps. */
export function encodingsOf(text: string): { way: string; text: string }[] {
  const bytes = Buffer.from(text);
  const all = [
    { way: 'as it is', text },
    { way: 'in JSON', text: JSON.stringify(text).slice(1, -1) },
    { way: 'in a URL', text: encodeURIComponent(text) },
    { way: 'as hexadecimal digits', text: bytes.toString('hex') },
    { way: 'as a list of bytes', text: [...bytes].join(',') },
    ...[0, 1, 2].map((offset) => ({ way: 'as base64', text: base64Inside(bytes, offset) })),
  ];
  return all.flatMap((spelling) => [
    spelling,
    { ...spelling, text: spelling.text.replaceAll('+', '-').replaceAll('/', '_') },
  ]);
}

/** The part of its base64 that does not depend on the surrounding bytes, with `offset` bytes before it. */
function base64Inside(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replace(/=+$/, '');
  const isWhole = (offset + bytes.length) % 3 === 0;
  return text.slice(offset === 0 ? 0 : offset + 1, isWhole ? undefined : -1);
}

/** All rows of all tables as text, bytes as hexadecimal digits, and the statements of the sessions. */
export async function dumpDatabase(url: string): Promise<string> {
  const tables = await databaseRows<{ name: string }>(
    url,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
       AND format('%I.%I', schemaname, tablename)::regclass NOT IN (SELECT inhrelid FROM pg_inherits)
     ORDER BY name`,
  );
  if (tables.length === 0) throw new Error('the database has no tables');
  const parts: string[] = [];
  for (const { name } of tables) {
    const rows = await databaseRows<{ row: string }>(url, `SELECT t::text AS row FROM ${name} t`);
    parts.push(name, ...rows.map(({ row }) => row));
  }
  const sessions = await databaseRows<{ query: string }>(url, 'SELECT query FROM pg_stat_activity');
  return [...parts, ...sessions.map(({ query }) => query)].join('\n');
}

/** All keys with their values, and the names of the clients. */
export async function dumpRedis(url: string): Promise<string> {
  const redis = new Redis(url);
  try {
    const parts = [String(await redis.client('LIST'))];
    for (const key of await redis.keys('*')) parts.push(key, await valueOf(redis, key));
    return parts.join('\n');
  } finally {
    redis.disconnect();
  }
}

async function valueOf(redis: Redis, key: string): Promise<string> {
  const type = await redis.type(key);
  switch (type) {
    case 'none':
      return '';
    case 'string':
      return (await redis.get(key)) ?? '';
    case 'hash':
      return JSON.stringify(await redis.hgetall(key));
    case 'list':
      return JSON.stringify(await redis.lrange(key, 0, -1));
    case 'set':
      return JSON.stringify(await redis.smembers(key));
    case 'zset':
      return JSON.stringify(await redis.zrange(key, '0', '-1', 'WITHSCORES'));
    default:
      throw new Error(`a ${type} of Redis cannot be searched`);
  }
}
