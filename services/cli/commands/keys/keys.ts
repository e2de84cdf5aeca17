import { type Key, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { GAME_SCOPES, SCOPES } from '#proto/rest/scopes.ts';
import { type Command, type Input, type Output, YES_OPTION } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../pages.ts';
import { properties, table, time } from '../text.ts';
import { TIME_FORMATS } from '../times.ts';
import { revokeLeaked } from './leaked.ts';
import { readReport } from './leaked-report.ts';

const INT32_MAX = 2_147_483_647;

const SETTINGS = {
  name: { type: 'string' },
  scopes: { type: 'string' },
  'all-scopes': { type: 'boolean' },
  'expires-at': { type: 'string' },
  'rate-limit': { type: 'string' },
  'allow-ip': { type: 'string', multiple: true },
} as const;

const ACTOR = { actor: { type: 'string' } } as const;

const NOTES = [
  `--scopes a,b     of ${SCOPES.join(', ')}`,
  '                 (x:write includes x:read; an empty text leaves only routes that need no scope)',
  `--expires-at T   when the key stops working: ${TIME_FORMATS}`,
  '--rate-limit N   requests a minute, on top of the limits of the categories',
  '--allow-ip CIDR  an IPv4 or IPv6 address or CIDR that may use the key; can be given several times',
];

const create: Command = {
  name: 'keys create',
  summary: 'make a key; it is shown this once',
  usage:
    '--guild ID (--scopes a,b | --all-scopes | --for game | --legacy) [--name TEXT] [--expires-at TIME] [--rate-limit N] [--allow-ip CIDR]… [--actor NOTE]',
  notes: [
    ...NOTES,
    '--for game       the scopes that a game server needs, and no others',
    '--legacy         a key without scopes that reaches everything',
  ],
  options: { guild: { type: 'string' }, for: { type: 'string' }, legacy: { type: 'boolean' }, ...SETTINGS, ...ACTOR },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const kind = input.oneOf('scopes', 'all-scopes', 'for', 'legacy');
    if (kind === 'for' && input.text('for') !== 'game') input.fault('--for must be game');
    const settings = {
      name: input.text('name') ?? '',
      legacy: kind === 'legacy',
      scopes: kind === 'for' ? [...GAME_SCOPES] : (readScopes(input) ?? []),
      ipAllowlist: input.all('allow-ip'),
      rateLimit: input.wholeNumber('rate-limit', { min: 1, max: INT32_MAX }),
      expiresAt: input.time('expires-at', 'ahead'),
    };
    input.check();
    const { key, secret } = await admin(connections).createKey({ guildId, actor: input.note, ...settings });
    return withSecret(given(key), secret, record(given(key)));
  },
};

const list: Command = {
  name: 'keys list',
  summary: 'the keys of a guild, without their secrets; or those of any guild that expire or are not used',
  usage: `(--guild ID | [--guild ID] (--expiring DURATION | --unused DURATION)) ${PAGE_USAGE}`,
  notes: [
    '--expiring 14d   only active keys that expire within so long; of every guild without --guild',
    '--unused 90d     only active keys that were not used for so long; of every guild without --guild',
    ...PAGE_NOTES,
  ],
  options: { guild: { type: 'string' }, expiring: { type: 'string' }, unused: { type: 'string' }, ...PAGE_OPTIONS },
  run: async (input, connections) => {
    const [expiring, unused] = [input.duration('expiring'), input.duration('unused')];
    const isFiltered = input.text('expiring') !== undefined || input.text('unused') !== undefined;
    const guildId = isFiltered ? (input.text('guild') ?? '') : input.requiredText('guild');
    const pages = readPageOptions(input);
    input.check();
    const now = Math.floor(Date.now() / 1000);
    const filters = {
      expiresBefore: expiring === undefined ? undefined : now + expiring,
      unusedSince: unused === undefined ? undefined : Math.max(0, now - unused),
    };
    return listOutput(pages, {
      field: 'keys',
      none: isFiltered ? 'There is no such key.' : 'The guild has no keys.',
      headings: HEADINGS,
      cells,
      document: listed,
      page: async (page) => {
        const { keys, nextCursor } = await admin(connections).listKeys({ guildId, ...filters, ...page });
        return { items: keys, nextCursor };
      },
    });
  },
};

const update: Command = {
  name: 'keys update',
  summary: 'change settings of a key',
  usage:
    'KEY_ID [--name TEXT] [--scopes a,b | --all-scopes] [--expires-at TIME | --no-expiry] [--rate-limit N | --no-rate-limit] [--allow-ip CIDR… | --no-allow-ip] [--actor NOTE]',
  notes: [
    ...NOTES,
    'What is given replaces what the key has; what is left out stays. Scopes make a legacy key an ordinary one.',
  ],
  argument: 'KEY_ID',
  options: {
    'no-expiry': { type: 'boolean' },
    'no-rate-limit': { type: 'boolean' },
    'no-allow-ip': { type: 'boolean' },
    ...SETTINGS,
    ...ACTOR,
  },
  run: async (input, connections) => {
    for (const [one, other] of EXCLUSIVE) input.notBoth(one, other);
    const addresses = input.all('allow-ip');
    const scopes = readScopes(input);
    const settings = {
      name: input.text('name'),
      scopes: scopes && { values: scopes },
      ipAllowlist: addresses.length > 0 || input.flag('no-allow-ip') ? { values: addresses } : undefined,
      rateLimit: input.flag('no-rate-limit') ? 0 : input.wholeNumber('rate-limit', { min: 1, max: INT32_MAX }),
      expiresAt: input.flag('no-expiry') ? 0 : input.time('expires-at', 'ahead'),
    };
    input.check();
    if (Object.values(settings).every((setting) => setting === undefined)) input.fault('give at least one setting');
    const keyId = requiredKeyId(input);
    input.check();
    const { key } = await admin(connections).updateKey({ keyId, actor: input.note, ...settings });
    return keyOutput(given(key));
  },
};

const EXCLUSIVE = [
  ['scopes', 'all-scopes'],
  ['expires-at', 'no-expiry'],
  ['rate-limit', 'no-rate-limit'],
  ['allow-ip', 'no-allow-ip'],
] as const;

const rotate: Command = {
  name: 'keys rotate',
  summary: 'give a key a new secret; it is shown this once',
  usage: 'KEY_ID --grace SECONDS [--actor NOTE]',
  notes: ['--grace N        how long the old secret keeps working: 0 to 604800 seconds (7 days)'],
  argument: 'KEY_ID',
  options: { grace: { type: 'string' }, ...ACTOR },
  run: async (input, connections) => {
    const keyId = requiredKeyId(input);
    input.requiredText('grace');
    const graceSeconds = input.wholeNumber('grace', { min: 0, max: INT32_MAX }) ?? 0;
    input.check();
    const { key, secret } = await admin(connections).rotateKey({ keyId, graceSeconds, actor: input.note });
    return withSecret(given(key), secret, listed(given(key)));
  },
};

const revoke: Command = {
  name: 'keys revoke',
  summary: 'refuse a key, all keys of a guild, or keys that leaked, from now on',
  usage: '(KEY_ID | --guild ID --all --yes | --leaked [--dry-run]) [--actor NOTE]',
  notes: [
    "--leaked         the keys in a secret scanner's report on standard input: JSON such as [{token, url, source}], or lines",
    '--dry-run        look the leaked keys up, and change nothing',
  ],
  argument: 'KEY_ID',
  options: {
    guild: { type: 'string' },
    all: { type: 'boolean' },
    leaked: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
    ...YES_OPTION,
    ...ACTOR,
  },
  run: async (input, connections, screen) => {
    const guildId = input.text('guild');
    const isNone = input.argument === undefined && guildId === undefined;
    const isOne = input.argument !== undefined && guildId === undefined && !input.flag('all') && !input.flag('leaked');
    const isAll = input.argument === undefined && guildId !== undefined && input.flag('all') && !input.flag('leaked');
    const isLeaked = isNone && input.flag('leaked') && !input.flag('all');
    if (!isOne && !isAll && !isLeaked)
      input.fault('give either a KEY_ID, or --guild ID together with --all, or --leaked');
    if (input.flag('dry-run') && !isLeaked) input.fault('--dry-run goes with --leaked');
    input.check();
    if (isLeaked) return revokeLeaked(input, connections, readReport(await screen.readInput()));
    if (guildId !== undefined) return revokeAll(guildId, input, connections);
    const { key } = await admin(connections).revokeKey({ keyId: requiredKeyId(input), actor: input.note });
    return keyOutput(given(key));
  },
};

async function revokeAll(guildId: string, input: Input, connections: Connections): Promise<Output> {
  if (!input.flag('yes')) {
    const { keys } = await admin(connections).listKeys({ guildId, limit: 0, cursor: '' });
    const count = keys.filter(({ revokedAt }) => revokedAt === undefined).length;
    input.confirm(`revokes ${count} keys of guild ${guildId}, for good`);
  }
  const { keys } = await admin(connections).revokeGuildKeys({ guildId, actor: input.note });
  const text = keys.length > 0 ? table(HEADINGS, keys.map(cells)) : 'The guild has no key that is not revoked already.';
  return { document: { keys: keys.map(listed) }, text };
}

export const keyCommands: readonly Command[] = [create, list, update, rotate, revoke];

function admin(connections: Connections) {
  return connections.admin(KeyAdminServiceService, 'auth');
}

function requiredKeyId(input: Input): string {
  if (!input.argument) input.fault('a KEY_ID is required, as `keys list` shows it');
  return input.argument ?? '';
}

function readScopes(input: Input): string[] | undefined {
  return input.flag('all-scopes') ? [...SCOPES] : input.list('scopes');
}

/** protobuf can not say that a message is always there. */
function given(key: Key | undefined): Key {
  if (!key) throw new Error('the service answered without a key');
  return key;
}

function record(key: Key) {
  return {
    id: key.id,
    prefix: key.prefix,
    guild_id: key.guildId,
    scopes: key.legacy ? null : key.scopes,
    legacy: key.legacy,
    expires_at: key.expiresAt ?? null,
    rate_limit: key.rateLimit ?? null,
    ip_allowlist: key.ipAllowlist,
    created_at: key.createdAt,
  };
}

function listed(key: Key) {
  return {
    ...record(key),
    name: key.name,
    revoked_at: key.revokedAt ?? null,
    rotated_until: key.rotatedUntil ?? null,
    last_used_at: key.lastUsedAt ?? null,
  };
}

function withSecret(key: Key, secret: string, { id, ...rest }: { id: string }): Output {
  const text = `${describe(key)}\n\nThe key, shown this once:\n${secret}`;
  return { document: { id, key: secret, ...rest }, text };
}

function keyOutput(key: Key): Output {
  return { document: listed(key), text: describe(key) };
}

const HEADINGS = ['ID', 'NAME', 'STATE', 'SCOPES', 'LIMIT', 'ALLOWED FROM', 'LAST USED', 'PREFIX'];

const cells = (key: Key) => [
  key.id,
  key.name || '-',
  state(key),
  scopesText(key),
  key.rateLimit === undefined ? '-' : `${key.rateLimit}/min`,
  key.ipAllowlist.join(', ') || 'anywhere',
  optionalTime(key.lastUsedAt, 'never'),
  key.prefix,
];

function describe(key: Key): string {
  return properties([
    ['ID', key.id],
    ['Name', key.name || '-'],
    ['State', state(key)],
    ['Prefix', key.prefix],
    ['Scopes', scopesText(key)],
    ['Limit', key.rateLimit === undefined ? 'none of its own' : `${key.rateLimit} requests a minute`],
    ['Allowed from', key.ipAllowlist.join(', ') || 'anywhere'],
    ['Created', time(key.createdAt)],
    ['Expires', optionalTime(key.expiresAt, 'never')],
    ['Old secret works until', optionalTime(key.rotatedUntil, '-')],
    ['Last used', optionalTime(key.lastUsedAt, 'never')],
  ]);
}

function state(key: Key): string {
  if (key.revokedAt !== undefined) return `revoked ${time(key.revokedAt)}`;
  if (key.expiresAt === undefined) return 'active';
  return `${key.expiresAt * 1000 <= Date.now() ? 'expired' : 'active until'} ${time(key.expiresAt)}`;
}

function scopesText(key: Key): string {
  return key.legacy ? 'everything (legacy)' : key.scopes.join(',') || 'none';
}

function optionalTime(seconds: number | undefined, none: string): string {
  return seconds === undefined ? none : time(seconds);
}
