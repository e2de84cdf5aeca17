import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { GAME_SCOPES, SCOPES } from '#proto/rest/scopes.ts';
import { ACTOR_OPTION, type Command, type Input, type Output, YES_OPTION } from '../../command.ts';
import type { Connections } from '../../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../../pages.ts';
import { required } from '../../responses.ts';
import { table } from '../../text.ts';
import { TIME_FORMATS } from '../../times.ts';
import { GAME_NOTES, GAME_OPTIONS, readGame, setUpGame } from './game-setup.ts';
import { revokeLeaked } from './leaked.ts';
import { readReport } from './leaked-report.ts';
import { HEADINGS, keyCells, keyDocument, keyOutput, newKeyDocument, secretOutput } from './views.ts';

/**
 * The maximum of number fields in requests, which are int32. The services have lower limits, and state them when they
 * reject a value.
 */
const INT32_MAX = 2_147_483_647;

/** The command-line options for the settings of an API key. */
const SETTING_OPTIONS = {
  name: { type: 'string' },
  scopes: { type: 'string' },
  'all-scopes': { type: 'boolean' },
  'expires-at': { type: 'string' },
  'rate-limit': { type: 'string' },
  'allow-ip': { type: 'string', multiple: true },
} as const;

const SETTING_NOTES = [
  `--scopes a,b     of ${SCOPES.join(', ')}`,
  '                 (x:write includes x:read; with an empty text only routes without a scope can be called)',
  `--expires-at T   when the key stops working: ${TIME_FORMATS}`,
  '--rate-limit N   requests a minute, on top of the limits of the categories',
  '--allow-ip CIDR  an IPv4 or IPv6 address or CIDR that may use the key; can be given several times',
];

const create: Command = {
  name: 'keys create',
  usage:
    '--guild ID (--scopes a,b | --all-scopes | --for game [--install UNIVERSE] [--url URL] [--secret NAME] | --legacy) [--name TEXT] [--expires-at TIME] [--rate-limit N] [--allow-ip CIDR]… [--actor NOTE]',
  notes: [
    ...SETTING_NOTES,
    '--for game       only the scopes that a game server needs; also prints the script that uses the key',
    '--install ID     stores the key as a secret of this universe of the game platform, with GAME_API_KEY',
    ...GAME_NOTES,
    '--legacy         a key without scopes, which has access to everything',
  ],
  options: {
    guild: { type: 'string' },
    for: { type: 'string' },
    install: { type: 'string' },
    ...GAME_OPTIONS,
    legacy: { type: 'boolean' },
    ...SETTING_OPTIONS,
    ...ACTOR_OPTION,
  },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const kind = input.oneOf('scopes', 'all-scopes', 'for', 'legacy');
    if (kind === 'for' && input.text('for') !== 'game') input.fault('--for must be game');
    const game = readGame(input, connections.environment, kind === 'for');
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
    const created = required(key, 'key');
    const output = secretOutput(created, secret, newKeyDocument(created));
    return game ? setUpGame(game, { guildId, key: secret, output, environment: connections.environment }) : output;
  },
};

const list: Command = {
  name: 'keys list',
  usage: `(--guild ID | [--guild ID] (--expiring DURATION | --unused DURATION)) ${PAGE_USAGE}`,
  notes: [
    '--expiring 14d   only active keys that expire within this time; without --guild of all guilds',
    '--unused 90d     only active keys that were not used for this time; without --guild of all guilds',
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
      cells: keyCells,
      document: keyDocument,
      page: async (page) => {
        const { keys, nextCursor } = await admin(connections).listKeys({ guildId, ...filters, ...page });
        return { items: keys, nextCursor };
      },
    });
  },
};

const update: Command = {
  name: 'keys update',
  usage:
    'KEY_ID [--name TEXT] [--scopes a,b | --all-scopes] [--expires-at TIME | --no-expiry] [--rate-limit N | --no-rate-limit] [--allow-ip CIDR… | --no-allow-ip] [--actor NOTE]',
  notes: [
    ...SETTING_NOTES,
    'Settings without an option stay as they are. Scopes turn a legacy key into an ordinary one.',
  ],
  argument: 'KEY_ID',
  options: {
    'no-expiry': { type: 'boolean' },
    'no-rate-limit': { type: 'boolean' },
    'no-allow-ip': { type: 'boolean' },
    ...SETTING_OPTIONS,
    ...ACTOR_OPTION,
  },
  run: async (input, connections) => {
    for (const [one, other] of EXCLUSIVE_OPTIONS) input.forbidBoth(one, other);
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
    return keyOutput(required(key, 'key'));
  },
};

/** Pairs of command-line options that exclude each other. */
const EXCLUSIVE_OPTIONS = [
  ['scopes', 'all-scopes'],
  ['expires-at', 'no-expiry'],
  ['rate-limit', 'no-rate-limit'],
  ['allow-ip', 'no-allow-ip'],
] as const;

const rotate: Command = {
  name: 'keys rotate',
  usage: 'KEY_ID --grace SECONDS [--actor NOTE]',
  notes: [
    '--grace N        the time for which the old secret stays valid: 0 to 604800 seconds (7 days);',
    '                 other than 0 at most 5 rotated secrets may still be valid',
  ],
  argument: 'KEY_ID',
  options: { grace: { type: 'string' }, ...ACTOR_OPTION },
  run: async (input, connections) => {
    const keyId = requiredKeyId(input);
    input.requiredText('grace');
    const graceSeconds = input.wholeNumber('grace', { min: 0, max: INT32_MAX }) ?? 0;
    input.check();
    const { key, secret } = await admin(connections).rotateKey({ keyId, graceSeconds, actor: input.note });
    const rotated = required(key, 'key');
    return secretOutput(rotated, secret, keyDocument(rotated));
  },
};

const revoke: Command = {
  name: 'keys revoke',
  usage: '(KEY_ID | --guild ID --all --yes | --leaked [--dry-run]) [--actor NOTE]',
  notes: [
    "--leaked         revoke the keys in a secret scanner's report on standard input: JSON [{token, url, source}] or plain text",
    '--dry-run        look up the leaked keys, and change nothing',
  ],
  argument: 'KEY_ID',
  options: {
    guild: { type: 'string' },
    all: { type: 'boolean' },
    leaked: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
    ...YES_OPTION,
    ...ACTOR_OPTION,
  },
  run: async (input, connections, terminal) => {
    const guildId = input.text('guild');
    const isLeaked = input.flag('leaked');
    const isAll = input.flag('all');
    const selections = [input.argument !== undefined, guildId !== undefined && isAll, isLeaked];
    if (selections.filter(Boolean).length !== 1 || (guildId !== undefined) !== isAll) {
      input.fault('give either a KEY_ID, or --guild ID together with --all, or --leaked');
    }
    if (input.flag('dry-run') && !isLeaked) input.fault('--dry-run requires --leaked');
    input.check();
    if (isLeaked) return revokeLeaked(input, connections, readReport(await terminal.readInput()));
    if (guildId !== undefined) return revokeAll(guildId, input, connections);
    const { key } = await admin(connections).revokeKey({ keyId: requiredKeyId(input), actor: input.note });
    return keyOutput(required(key, 'key'));
  },
};

async function revokeAll(guildId: string, input: Input, connections: Connections): Promise<Output> {
  if (!input.flag('yes')) {
    const { keys } = await admin(connections).listKeys({ guildId, limit: 0, cursor: '' });
    const count = keys.filter(({ revokedAt }) => revokedAt === undefined).length;
    input.confirm(`permanently revokes ${count} keys of guild ${guildId}`);
  }
  const { keys } = await admin(connections).revokeGuildKeys({ guildId, actor: input.note });
  const text = keys.length > 0 ? table(HEADINGS, keys.map(keyCells)) : 'All keys of the guild were already revoked.';
  return { document: { keys: keys.map(keyDocument) }, text };
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
