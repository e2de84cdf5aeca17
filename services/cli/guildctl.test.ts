import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readApiKey } from '#kit/security/api-key.ts';
import { internalKeysOf } from '#kit/security/process-keys.ts';
import type { Environment } from '#kit/service/config.ts';
import { GAME_SCOPES, SCOPES } from '#proto/rest/scopes.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { bundledProgram } from '#test/system/app.ts';
import { ADMIN_SECRET, INTERNAL_SECRET, startTestAuth, type TestAuth } from '#test/system/auth.ts';
import { inheritedEnvironment } from '#test/system/processes.ts';
import { type GuildctlResult, runGuildctl } from './fixtures/guildctl.ts';

const SECRET = /service_\d+_\w{38}/;

let database: TestDatabase;
let service: TestAuth;
let folder: string;
let lastGuild = 900000000000000000n;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startTestAuth({ databaseUrl: database.url });
  folder = mkdtempSync(join(tmpdir(), 'guildctl-'));
});

afterAll(async () => {
  rmSync(folder, { recursive: true });
  await service.stop();
  await database.drop();
});

const newGuild = () => String(++lastGuild);

/** Runs guildctl as a separate process, as an operator does. */
async function guildctl(words: string[], environment?: Environment): Promise<GuildctlResult> {
  const access = environment ?? { GUILDCTL_AUTH: service.address, ADMIN_SECRETS: ADMIN_SECRET };
  const env = { ...inheritedEnvironment(), DATA_DIR: folder, ...access };
  const main = await bundledProgram('guildctl');
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...words], { env, cwd: tmpdir() }, (failure, out, error) =>
      resolve({ status: failure ? Number(failure.code) : 0, out, error }),
    );
  });
}

/** Runs a command with `--json`, and returns the document that it prints. */
async function json<Document = Record<string, unknown>>(...words: string[]): Promise<Document> {
  const { status, out, error } = await guildctl([...words, '--json']);
  expect({ status, error }).toEqual({ status: 0, error: '' });
  return JSON.parse(out) as Document;
}

type KeyDocument = Record<string, unknown> & { id: string; key: string };

test('keys create prints the new key with all its settings', async () => {
  const guild = newGuild();
  const expiresAt = Math.floor(Date.now() / 1000) + 600;
  const settings = [
    ['--scopes', 'lookup:read, verify:write', '--name', 'Game servers', '--expires-at', String(expiresAt)],
    ['--rate-limit', '60', '--allow-ip', '10.0.0.0/8', '--allow-ip', '::1'],
  ].flat();
  const created = await json<KeyDocument>('keys', 'create', '--guild', guild, ...settings);
  expect(created).toEqual({
    id: `${guild}-1`,
    key: expect.stringMatching(SECRET),
    prefix: readApiKey(created.key)?.prefix,
    guild_id: guild,
    scopes: ['lookup:read', 'verify:write'],
    legacy: false,
    expires_at: expiresAt,
    rate_limit: 60,
    ip_allowlist: ['10.0.0.0/8', '::1'],
    created_at: expect.any(Number),
  });
  const legacy = await json('keys', 'create', '--guild', guild, '--legacy');
  expect(legacy).toMatchObject({ legacy: true, scopes: null, expires_at: null, rate_limit: null, ip_allowlist: [] });
  const all = await json('keys', 'create', '--guild', guild, '--all-scopes');
  expect(all).toMatchObject({ legacy: false, scopes: SCOPES });
  expect(await json('keys', 'create', '--guild', guild, '--for', 'game')).toMatchObject({ scopes: GAME_SCOPES });
});

test('keys list, update, rotate, revoke and audit list print the documented output', async () => {
  const guild = newGuild();
  const named = ['--guild', guild, '--legacy', '--name', 'A'];
  const { key: first, ...record } = await json<KeyDocument>('keys', 'create', ...named);
  const listed = { ...record, name: 'A', revoked_at: null, rotated_until: null, last_used_at: null };
  expect(await json('keys', 'list', '--guild', guild)).toEqual({ keys: [listed], next_cursor: null });

  const updated = await json(
    'keys',
    'update',
    record.id,
    '--scopes',
    'sync:write',
    '--rate-limit',
    '5',
    '--actor',
    'ada',
  );
  expect(updated).toEqual({ ...listed, legacy: false, scopes: ['sync:write'], rate_limit: 5 });
  const settings = ['--allow-ip', '192.0.2.0/24', '--expires-at', '4102444800', '--no-rate-limit'];
  const limited = await json('keys', 'update', record.id, ...settings);
  expect(limited).toMatchObject({ ip_allowlist: ['192.0.2.0/24'], expires_at: 4102444800, rate_limit: null });
  const freed = await json('keys', 'update', record.id, '--no-allow-ip', '--no-expiry');
  expect(freed).toMatchObject({ ip_allowlist: [], expires_at: null, scopes: ['sync:write'] });

  const rotated = await json<KeyDocument>('keys', 'rotate', record.id, '--grace', '3600');
  expect(rotated).toMatchObject({ id: record.id, key: expect.stringMatching(SECRET) });
  expect(rotated['rotated_until']).toBeGreaterThan(Number(record['created_at']) + 3000);
  expect(rotated.key).not.toBe(first);
  expect(rotated['prefix']).not.toBe(record['prefix']);

  const revoked = await json('keys', 'revoke', record.id);
  expect(revoked['revoked_at']).toBeGreaterThanOrEqual(Number(record['created_at']));
  expect(await json('keys', 'revoke', record.id)).toEqual(revoked);
  await json('keys', 'create', '--guild', guild, '--all-scopes');
  const { keys } = await json<{ keys: KeyDocument[] }>('keys', 'revoke', '--guild', guild, '--all', '--yes');
  expect(keys.map(({ id }) => id)).toEqual([`${guild}-2`]);

  const { entries } = await json<{ entries: Record<string, unknown>[] }>('audit', 'list', '--guild', guild);
  expect(entries.map(({ action }) => action)).toEqual([
    'revoke',
    'create',
    'revoke',
    'rotate',
    'update',
    'update',
    'update',
    'create',
  ]);
  expect(entries.at(-2)).toEqual({
    id: '2',
    sequence: 2,
    at: expect.any(Number),
    actor: 'root',
    service: 'auth',
    action: 'update',
    method: '/guild.auth.v1.KeyAdminService/UpdateKey',
    key_id: record.id,
    details: {
      before: expect.anything(),
      after: { scopes: ['sync:write'], rate_limit: 5 },
      note: 'ada',
      address: '127.0.0.1',
      request_id: expect.any(String),
    },
  });
  expect(entries[0]).toMatchObject({ actor: 'root', details: { all: true } });
  const later = await json('audit', 'list', '--guild', guild, '--since', '4102444800');
  expect(later).toEqual({ entries: [], next_cursor: null });
});

test('text output is aligned, and the key is printed only by the command that creates it', async () => {
  const guild = newGuild();
  const words = ['--guild', guild, '--scopes', 'lookup:read', '--name', 'Servers', '--expires-at', '4102444800'];
  const created = await guildctl(['keys', 'create', ...words]);
  expect(created.out).toMatch(/^ID +\d+-1\nName +Servers\nState +active until 2100-01-01 00:00:00 UTC\n/);
  const secret = SECRET.exec(created.out)?.[0] ?? '';
  expect(created.out.endsWith(`\n${secret}\n`)).toBe(true);
  const listed = await guildctl(['keys', 'list', '--guild', guild]);
  expect(listed.out.split('\n')[0]).toMatch(/^ID +NAME +STATE +SCOPES +LIMIT +ALLOWED FROM +LAST USED +PREFIX$/);
  const audit = await guildctl(['audit', 'list', '--guild', guild]);
  expect(audit.out).toMatch(/\n20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC +root +auth +create +\d+-1 +\{/);
  expect(listed.out + audit.out).not.toContain(secret);
  expect((await guildctl(['keys', 'list', '--guild', newGuild()])).out).toBe('The guild has no keys.\n');
});

const GUILD = '900000000000000999';

test.each([
  [['keys', 'create', '--guild', GUILD], 'give exactly one of --scopes, --all-scopes, --for, --legacy'],
  [['keys', 'create', '--guild', GUILD, '--for', 'dashboard'], '--for must be game'],
  [['keys', 'create', '--guild', GUILD, '--legacy', '--scopes', 'sync:write'], 'give exactly one of'],
  [['keys', 'create', '--legacy'], '--guild is required'],
  [['keys', 'create', '--guild', '12', '--legacy'], '--guild must be a guild ID'],
  [
    ['keys', 'create', '--guild', GUILD, '--scopes', 'lookup:read,root'],
    '--scopes (number 2) must be one of moderation',
  ],
  [['keys', 'create', '--guild', GUILD, '--legacy', '--allow-ip', 'here'], '--allow-ip (number 1) must be an IPv4'],
  [['keys', 'create', '--guild', GUILD, '--legacy', '--rate-limit', 'many'], '--rate-limit must be a whole number'],
  [['keys', 'create', '--guild', GUILD, '--legacy', '--rate-limit', '1000001'], '--rate-limit must be 1 to 1000000'],
  [
    ['keys', 'create', '--guild', GUILD, '--legacy', '--expires-at', '1000'],
    '--expires-at must be Unix seconds in the',
  ],
  [['keys', 'create', '--guild', GUILD, '--legacy', '--colour', 'red'], "Unknown option '--colour'"],
  [['keys', 'create', '--guild', GUILD, '--legacy', 'more'], '"more" is one argument too many'],
  [['keys', 'list'], '--guild is required'],
  [['keys', 'update', `${GUILD}-1`], 'give at least one setting'],
  [['keys', 'update', '--name', 'x'], 'a KEY_ID is required'],
  [['keys', 'update', `${GUILD}-1`, '--no-expiry', '--expires-at', '9'], '--expires-at and --no-expiry exclude each'],
  [['keys', 'update', `${GUILD}-1`, '--name', 'x'], 'There is no such key'],
  [['keys', 'rotate', `${GUILD}-1`], '--grace is required'],
  [['keys', 'rotate', `${GUILD}-1`, '--grace', '604801'], '--grace must be 0 to 604800 seconds'],
  [['keys', 'rotate', 'mine', '--grace', '0'], 'KEY_ID must be the ID of a key'],
  [['keys', 'revoke'], 'give either a KEY_ID, or --guild ID together with --all'],
  [['keys', 'revoke', '--guild', GUILD], 'give either a KEY_ID, or --guild ID together with --all'],
  [['audit', 'list', '--guild', GUILD, '--since', 'yesterday'], '--since must be a time: Unix seconds'],
  [['keys', 'burn'], 'there is no command "keys burn"'],
  [[], 'a command is required'],
])('%j fails, and prints the fault to standard error only', async (words, message) => {
  const environment = { GUILDCTL_AUTH: service.address, ADMIN_SECRETS: ADMIN_SECRET };
  const { status, out, error } = await runGuildctl([...words, '--json'], environment);
  expect({ status, out }).toEqual({ status: 1, out: '' });
  expect(error).toContain(message);
});

test('all faults of a request are reported together', async () => {
  const words = ['keys', 'create', '--guild', '1', '--scopes', 'a,b', '--allow-ip', 'x', '--rate-limit', '2000000'];
  const { status, out, error } = await guildctl(words);
  expect({ status, out }).toEqual({ status: 1, out: '' });
  for (const option of [
    '--guild',
    '--scopes (number 1)',
    '--scopes (number 2)',
    '--allow-ip (number 1)',
    '--rate-limit',
  ]) {
    expect(error).toContain(`${option} must be`);
  }
  const usage = await guildctl(['keys', 'create', '--rate-limit', 'x', '--expires-at', 'y']);
  for (const fault of [
    '--guild is',
    'give exactly',
    '--rate-limit must',
    '--expires-at must',
    'Usage: guildctl keys',
  ]) {
    expect(usage.error).toContain(fault);
  }
});

test('--help prints all commands, or the help of one command, to standard output', async () => {
  const overview = await guildctl(['--help']);
  expect(overview).toMatchObject({ status: 0, error: '' });
  expect(overview.out).toMatch(/keys rotate +give a key a new secret/);
  const update = await guildctl(['keys', 'update', '--help']);
  expect(update).toMatchObject({ status: 0, error: '' });
  for (const option of ['--no-expiry', '--no-rate-limit', '--no-allow-ip', 'KEY_ID'])
    expect(update.out).toContain(option);
});

test('guildctl finds the address and the secret of the system that npm start runs on this machine', async () => {
  const secrets = join(folder, 'secrets');
  mkdirSync(secrets);
  writeFileSync(join(secrets, 'admin'), `${ADMIN_SECRET}\n`);
  const writeUp = (pid: number) =>
    writeFileSync(join(folder, 'up.json'), JSON.stringify({ pid, services: { auth: { grpc: service.address } } }));
  writeUp(process.pid);
  const found = await guildctl(['keys', 'list', '--guild', newGuild(), '--json'], {});
  expect(found).toEqual({ status: 0, out: '{"keys":[],"next_cursor":null}\n', error: '' });
  // No process has this ID, because the largest one is 4194304.
  writeUp(99_999_999);
  const killed = await guildctl(['keys', 'list', '--guild', newGuild()], {});
  expect(killed).toMatchObject({ status: 1, out: '' });
  expect(killed.error).toMatch(/^guildctl: auth is no longer running here: start it with `npm start`, or .*\n$/);
  rmSync(join(folder, 'up.json'));
  const stopped = await guildctl(['keys', 'list', '--guild', newGuild()], {});
  expect(stopped.error).toMatch(/^guildctl: auth is not running here: start it with `npm start`, or .*\n$/);
});

test('the errors for a wrong secret, an invalid configuration and an unreachable service contain no secret', async () => {
  const words = ['keys', 'list', '--guild', newGuild()];
  const wrong = await guildctl(words, { GUILDCTL_AUTH: service.address, ADMIN_SECRETS: 'w'.repeat(40) });
  expect(wrong).toMatchObject({ status: 1, out: '' });
  expect(wrong.error).toContain('ADMIN_SECRETS or OPERATOR_CREDENTIAL is not of this installation');
  expect(wrong.error).not.toContain('wwww');
  const short = await guildctl(words, { GUILDCTL_AUTH: 'somewhere', ADMIN_SECRETS: 'short-secret' });
  expect(short.error).toContain('GUILDCTL_AUTH must be host:port');
  expect(short.error).toContain('ADMIN_SECRETS must hold secrets of at least 32 bytes');
  expect(short.error).not.toContain('short-secret');
  const unreachable = await guildctl(words, { GUILDCTL_AUTH: '127.0.0.1:1', ADMIN_SECRETS: ADMIN_SECRET });
  expect(unreachable).toMatchObject({ status: 1, out: '' });
  expect(unreachable.error).toContain('cannot be reached: is it running');
});

test('guildctl accepts the keys that were derived for it, and rejects those of a service', async () => {
  const roots = { internal: [INTERNAL_SECRET], admin: [ADMIN_SECRET] };
  const words = ['keys', 'list', '--guild', newGuild()];
  const as = (name: string) =>
    guildctl(words, { GUILDCTL_AUTH: service.address, INTERNAL_KEYS: internalKeysOf(name, roots), ADMIN_SECRETS: '' });
  expect(await as('guildctl')).toMatchObject({ status: 0, error: '' });
  const lookup = await as('lookup');
  expect(lookup).toMatchObject({ status: 1, out: '' });
  expect(lookup.error).toContain(
    'INTERNAL_KEYS has no key for call:operators:auth: set the keys that were derived for guildctl',
  );
});
