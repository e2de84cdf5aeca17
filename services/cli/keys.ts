import { type Key, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import type { Command, Input, Output } from './command.ts';
import type { Connections } from './connections.ts';
import { properties, table, time } from './text.ts';

const INT32_MAX = 2_147_483_647;
const UNIX = { min: 1, max: Number.MAX_SAFE_INTEGER };

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
  '--expires-at N   Unix seconds after which the key is refused',
  '--rate-limit N   requests a minute, on top of the limits of the categories',
  '--allow-ip CIDR  an IPv4 or IPv6 address or CIDR that may use the key; can be given several times',
];

const create: Command = {
  name: 'keys create',
  summary: 'make a key; it is shown this once',
  usage:
    '--guild ID (--scopes a,b | --all-scopes | --legacy) [--name TEXT] [--expires-at UNIX] [--rate-limit N] [--allow-ip CIDR]… [--actor NAME]',
  notes: [...NOTES, '--legacy         a key without scopes that reaches everything'],
  options: { guild: { type: 'string' }, legacy: { type: 'boolean' }, ...SETTINGS, ...ACTOR },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const kind = input.oneOf('scopes', 'all-scopes', 'legacy');
    const settings = {
      name: input.text('name') ?? '',
      legacy: kind === 'legacy',
      scopes: readScopes(input) ?? [],
      ipAllowlist: input.all('allow-ip'),
      rateLimit: input.wholeNumber('rate-limit', { min: 1, max: INT32_MAX }),
      expiresAt: input.wholeNumber('expires-at', UNIX),
    };
    input.check();
    const { key, secret } = await admin(connections).createKey({ guildId, actor: input.actor, ...settings });
    return withSecret(given(key), secret, record(given(key)));
  },
};

const list: Command = {
  name: 'keys list',
  summary: 'the keys of a guild, without their secrets',
  usage: '--guild ID',
  options: { guild: { type: 'string' } },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    input.check();
    const { keys } = await admin(connections).listKeys({ guildId });
    return listOutput(keys, 'The guild has no keys.');
  },
};

const update: Command = {
  name: 'keys update',
  summary: 'change settings of a key',
  usage:
    'KEY_ID [--name TEXT] [--scopes a,b | --all-scopes] [--expires-at UNIX | --no-expiry] [--rate-limit N | --no-rate-limit] [--allow-ip CIDR… | --no-allow-ip] [--actor NAME]',
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
      expiresAt: input.flag('no-expiry') ? 0 : input.wholeNumber('expires-at', UNIX),
    };
    input.check();
    if (Object.values(settings).every((setting) => setting === undefined)) input.fault('give at least one setting');
    const keyId = requiredKeyId(input);
    input.check();
    const { key } = await admin(connections).updateKey({ keyId, actor: input.actor, ...settings });
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
  usage: 'KEY_ID --grace SECONDS [--actor NAME]',
  notes: ['--grace N        how long the old secret keeps working: 0 to 604800 seconds (7 days)'],
  argument: 'KEY_ID',
  options: { grace: { type: 'string' }, ...ACTOR },
  run: async (input, connections) => {
    const keyId = requiredKeyId(input);
    input.requiredText('grace');
    const graceSeconds = input.wholeNumber('grace', { min: 0, max: INT32_MAX }) ?? 0;
    input.check();
    const { key, secret } = await admin(connections).rotateKey({ keyId, graceSeconds, actor: input.actor });
    return withSecret(given(key), secret, listed(given(key)));
  },
};

const revoke: Command = {
  name: 'keys revoke',
  summary: 'refuse a key, or all keys of a guild, from now on',
  usage: '(KEY_ID | --guild ID --all) [--actor NAME]',
  argument: 'KEY_ID',
  options: { guild: { type: 'string' }, all: { type: 'boolean' }, ...ACTOR },
  run: async (input, connections) => {
    const guildId = input.text('guild');
    const isOne = input.argument !== undefined && guildId === undefined && !input.flag('all');
    const isAll = input.argument === undefined && guildId !== undefined && input.flag('all');
    if (!isOne && !isAll) input.fault('give either a KEY_ID, or --guild ID together with --all');
    input.check();
    if (guildId !== undefined) {
      const { keys } = await admin(connections).revokeGuildKeys({ guildId, actor: input.actor });
      return listOutput(keys, 'The guild has no key that is not revoked already.');
    }
    const { key } = await admin(connections).revokeKey({ keyId: requiredKeyId(input), actor: input.actor });
    return keyOutput(given(key));
  },
};

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

function listOutput(keys: readonly Key[], none: string): Output {
  const headings = ['ID', 'NAME', 'STATE', 'SCOPES', 'LIMIT', 'ALLOWED FROM', 'LAST USED', 'PREFIX'];
  const rows = keys.map((key) => [
    key.id,
    key.name || '-',
    state(key),
    scopesText(key),
    key.rateLimit === undefined ? '-' : `${key.rateLimit}/min`,
    key.ipAllowlist.join(', ') || 'anywhere',
    optionalTime(key.lastUsedAt, 'never'),
    key.prefix,
  ]);
  return { document: { keys: keys.map(listed) }, text: keys.length > 0 ? table(headings, rows) : none };
}

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
