import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readApiKey } from '#kit/security/api-key.ts';
import type { Environment } from '#kit/service/config.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import {
  ADMIN_SECRET,
  receivedVersions,
  startTestAuth,
  type TestAuth,
  verifyKeys,
  watchKeys,
} from '#test/system/auth.ts';
import { guildctlJson, runGuildctl } from '../fixtures/guildctl.ts';

let database: TestDatabase;
let service: TestAuth;
let lastGuild = 900000000000000000n;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startTestAuth({ databaseUrl: database.url });
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const newGuild = () => String(++lastGuild);
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

interface Options {
  environment?: Environment;
  input?: string;
}

const access = (environment: Environment = { ADMIN_SECRETS: ADMIN_SECRET }) => ({
  GUILDCTL_AUTH: service.address,
  DATA_DIR: '/nonexistent',
  ...environment,
});
const run = (words: string[], { environment, input }: Options = {}) => runGuildctl(words, access(environment), input);
// oxlint-disable-next-line typescript/no-explicit-any -- the tests check the fields of documents
const json = (words: string[], { environment, input }: Options = {}): Promise<any> =>
  guildctlJson(words, access(environment), input);

const createKey = (guild: string, ...more: string[]) => json(['keys', 'create', '--guild', guild, '--legacy', ...more]);

describe('operators', () => {
  test('add prints a credential with which a person acts under a name and a role until it is revoked', async () => {
    const added = await json(['operators', 'add', 'ben', '--role', 'admin']);
    expect(added).toEqual({
      name: 'ben',
      role: 'admin',
      created_at: expect.any(Number),
      created_by: 'root',
      revoked_at: null,
      credential: expect.stringMatching(/^operator_ben_[0-9A-Za-z]{43}$/),
    });
    const environment = { OPERATOR_CREDENTIAL: added.credential as string };
    const guild = newGuild();
    await json(['keys', 'create', '--guild', guild, '--legacy', '--actor', 'for Ada'], { environment });
    const { entries } = await json(['audit', 'list', '--guild', guild], { environment });
    expect(entries).toMatchObject([{ actor: 'ben', action: 'create', details: { note: 'for Ada' } }]);
    const rejected = await run(['operators', 'add', 'eve', '--role', 'owner'], { environment });
    expect(rejected).toMatchObject({ status: 1, out: '' });
    expect(rejected.error).toContain('The operator ben has the role admin, but this call requires the role owner');
    expect((await json(['operators', 'list'])).operators).toMatchObject([{ name: 'ben', role: 'admin' }]);
    expect((await json(['operators', 'revoke', 'ben'])).revoked_at).toEqual(expect.any(Number));
    const late = await run(['keys', 'list', '--guild', guild], { environment });
    expect(late).toMatchObject({ status: 1, out: '' });
    expect(late.error).toContain('OPERATOR_CREDENTIAL');
    expect(late.error).not.toContain(added.credential);
    const { entries: own } = await json(['audit', 'list', '--installation']);
    expect(own.map(({ action, actor }: Record<string, string>) => [action, actor])).toEqual([
      ['revoke_operator', 'root'],
      ['add_operator', 'root'],
    ]);
  });

  test.each([
    [['operators', 'add', 'Ben!', '--role', 'admin'], 'NAME must be 2 to 32 of a-z'],
    [['operators', 'add', 'carl', '--role', 'king'], '--role must be one of viewer, support, admin, owner'],
    [['operators', 'add', 'carl'], '--role is required'],
    [['operators', 'revoke', 'nobody'], 'There is no operator nobody'],
  ])('%j fails', async (words, message) => {
    const { status, out, error } = await run(words);
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(error).toContain(message);
  });

  test('an invalid credential is rejected before a service is called', async () => {
    const { status, error } = await run(['keys', 'list', '--guild', newGuild()], {
      environment: { OPERATOR_CREDENTIAL: 'operator_ben_short' },
    });
    expect(status).toBe(1);
    expect(error).toContain('OPERATOR_CREDENTIAL does not contain a credential');
  });
});

describe('audit verify', () => {
  test('reports an intact chain, and the first changed entry of a broken one', async () => {
    const guild = newGuild();
    for (let n = 0; n < 3; n++) await createKey(guild);
    const intact = await json(['audit', 'verify', '--guild', guild]);
    expect(intact).toMatchObject({ guild_id: guild, entries: 3, first_break: null, last_sequence: 3 });
    expect(intact.last_chain).toMatch(/^[0-9a-f]{64}$/);
    await databaseRows(database.url, `UPDATE auth.audit SET actor = 'eve' WHERE guild_id = $1 AND sequence = 2`, [
      guild,
    ]);
    const broken = await run(['audit', 'verify', '--guild', guild, '--json']);
    expect(broken.status).toBe(1);
    expect(JSON.parse(broken.out).first_break).toMatchObject({ sequence: 2 });
    const all = await run(['audit', 'verify', '--all']);
    expect(all.status).toBe(1);
    expect(all.error).toContain(`guild ${guild}: broken at entry 2`);
    expect(all.out).toMatch(/^\d+ chains, 1 of them broken\.\n$/);
    await databaseRows(database.url, `UPDATE auth.audit SET actor = 'root' WHERE guild_id = $1`, [guild]);
    expect(await json(['audit', 'verify', '--all'])).toMatchObject({ broken_chains: 0 });
  });
});

describe('lists', () => {
  test('continue page by page to the end, with each entry once', async () => {
    const guild = newGuild();
    for (let n = 0; n < 12; n++) {
      const { id } = await createKey(guild, '--name', `key ${n}`);
      if (n % 3 === 0) await json(['keys', 'revoke', id]);
    }
    const seen: string[] = [];
    let cursor: string[] = [];
    do {
      const page = await json(['keys', 'list', '--guild', guild, '--limit', '5', ...cursor]);
      seen.push(...page.keys.map(({ name }: { name: string }) => name));
      cursor = page.next_cursor ? ['--cursor', page.next_cursor] : [];
    } while (cursor.length > 0);
    expect(seen).toEqual([11, 10, 8, 7, 5, 4, 2, 1, 9, 6, 3, 0].map((n) => `key ${n}`));
    const all = await json(['keys', 'list', '--guild', guild, '--all']);
    expect(all.keys.map(({ name }: { name: string }) => name)).toEqual(seen);
    const first = await json(['audit', 'list', '--guild', guild, '--since', '1h', '--limit', '10']);
    const rest = await json(['audit', 'list', '--guild', guild, '--since', '1h', '--cursor', first.next_cursor]);
    const sequences = [...first.entries, ...rest.entries].map(({ sequence }: { sequence: number }) => sequence);
    expect(sequences).toEqual(Array.from({ length: 16 }, (_, index) => 16 - index));
  });

  test('a cursor of another list is rejected', async () => {
    const guild = newGuild();
    for (let n = 0; n < 2; n++) await createKey(guild);
    const { next_cursor: cursor } = await json(['keys', 'list', '--guild', guild, '--limit', '1']);
    const { status, error } = await run(['keys', 'list', '--guild', newGuild(), '--cursor', cursor]);
    expect(status).toBe(1);
    expect(error).toContain('--cursor is not a next_cursor of this list');
  });

  test('keys that expire soon and unused keys are found in all guilds', async () => {
    const [one, other] = [newGuild(), newGuild()];
    const soon = await createKey(one, '--expires-at', '7d');
    await createKey(one, '--expires-at', '30d');
    const alsoSoon = await createKey(other, '--expires-at', '13d');
    const ids = (found: { keys: { id: string }[] }) => found.keys.map(({ id }) => id);
    expect(ids(await json(['keys', 'list', '--expiring', '14d']))).toEqual([soon.id, alsoSoon.id]);
    expect(ids(await json(['keys', 'list', '--guild', other, '--expiring', '14d']))).toEqual([alsoSoon.id]);
    expect(ids(await json(['keys', 'list', '--guild', one, '--unused', '90d']))).toEqual([]);
    await databaseRows(
      database.url,
      `UPDATE auth.keys SET created_at = $2, last_used_at = CASE WHEN number = 1 THEN $3::timestamptz ELSE $4::timestamptz END
       WHERE guild_id = $1`,
      [one, daysAgo(100), daysAgo(95), daysAgo(0)],
    );
    expect(ids(await json(['keys', 'list', '--unused', '90d']))).toEqual([soon.id]);
  });
});

describe('guilds', () => {
  test('are listed with the number and the last use of their keys', async () => {
    const guild = newGuild();
    const { id } = await createKey(guild);
    await createKey(guild);
    await json(['keys', 'revoke', id]);
    const { guilds } = await json(['guilds', 'list', '--all']);
    expect(guilds.find(({ guild_id: found }: { guild_id: string }) => found === guild)).toEqual({
      guild_id: guild,
      active_keys: 1,
      keys: 2,
      last_used_at: null,
      suspended_at: null,
    });
  });

  test('that are suspended have no valid keys, old or new, until they are resumed', async () => {
    const guild = newGuild();
    const first = await createKey(guild);
    const watched = watchKeys(service.auth);
    const unconfirmed = await run(['guilds', 'suspend', '--guild', guild]);
    expect(unconfirmed.status).toBe(1);
    expect(unconfirmed.error).toContain(`rejects every request of guild ${guild}`);
    expect(await verifyKeys(service, first.key)).not.toContain(undefined);
    const suspended = await json(['guilds', 'suspend', '--guild', guild, '--yes']);
    expect(suspended.suspended_at).toEqual(expect.any(Number));
    // Gateways remove the key from their caches when they receive this change.
    await expect.poll(() => receivedVersions(watched, first.id)).toContain(2);
    const second = await createKey(guild);
    expect(await verifyKeys(service, first.key, second.key)).toEqual([undefined, undefined]);
    expect((await json(['guilds', 'resume', '--guild', guild])).suspended_at).toBeNull();
    await expect.poll(() => receivedVersions(watched, first.id)).toContain(3);
    watched.cancel();
    expect(await verifyKeys(service, first.key, second.key)).not.toContain(undefined);
    const { entries } = await json(['audit', 'list', '--guild', guild]);
    expect(entries.map(({ action }: { action: string }) => action)).toEqual(['resume', 'create', 'suspend', 'create']);
    const unknown = await run(['guilds', 'suspend', '--guild', newGuild(), '--yes']);
    expect(unknown.error).toContain('The guild has no keys and never had any');
  });
});

describe('keys revoke', () => {
  test('--all requires --yes, and prints the number of keys without it', async () => {
    const guild = newGuild();
    for (let n = 0; n < 3; n++) await createKey(guild);
    const { status, out, error } = await run(['keys', 'revoke', '--guild', guild, '--all', '--json']);
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(error).toContain(`permanently revokes 3 keys of guild ${guild}. Nothing was changed`);
    const { keys } = await json(['keys', 'list', '--guild', guild]);
    expect(keys.every(({ revoked_at: at }: { revoked_at: unknown }) => at === null)).toBe(true);
    expect((await json(['keys', 'revoke', '--guild', guild, '--all', '--yes'])).keys).toHaveLength(3);
  });

  test("--leaked revokes the keys in a scanner's report, and records in the audit where they were found", async () => {
    const guild = newGuild();
    const keys = [];
    for (let n = 0; n < 4; n++) keys.push((await createKey(guild)).key as string);
    const [first = '', second = '', third = '', spared = ''] = keys;
    await json(['keys', 'revoke', `${guild}-2`]);
    const unknown = `${first.slice(0, -38)}${'0'.repeat(38)}`;
    const url = 'https://example.com/blob/main/config.lua';
    const report = JSON.stringify([
      { token: first, type: 'guild_data_key', url, source: 'content' },
      { token: second, type: 'guild_data_key', url: `https://example.com/?q=${second}`, source: 'content' },
      { token: unknown, type: 'guild_data_key', url, source: 'content' },
      { token: 'nothing', type: 'other' },
    ]);
    const prefixOf = (key: string) => readApiKey(key)?.prefix;
    const dry = await json(['keys', 'revoke', '--leaked', '--dry-run'], { input: report });
    expect(dry).toMatchObject({ dry_run: true, findings: [{ result: 'revoked' }, { result: 'already_revoked' }] });
    expect(await verifyKeys(service, first)).not.toContain(undefined);
    const done = await json(['keys', 'revoke', '--leaked', '--actor', 'scanner'], { input: report });
    expect(done.findings).toEqual([
      { prefix: prefixOf(first), result: 'revoked', key_id: `${guild}-1`, url },
      {
        prefix: prefixOf(second),
        result: 'already_revoked',
        key_id: `${guild}-2`,
        url: `https://example.com/?q=${prefixOf(second)}`,
      },
    ]);
    expect(await verifyKeys(service, first)).toEqual([undefined]);
    const lines = await json(['keys', 'revoke', '--leaked'], { input: `found ${third} in ${url}\nand nothing here\n` });
    expect(lines.findings).toMatchObject([{ result: 'revoked', key_id: `${guild}-3`, url }]);
    expect(await verifyKeys(service, spared)).not.toContain(undefined);
    const listed = await run(['audit', 'list', '--guild', guild, '--json']);
    expect(JSON.parse(listed.out).entries[1]).toMatchObject({
      actor: 'root',
      action: 'revoke',
      key_id: `${guild}-1`,
      details: { leaked: true, url, source: 'content', note: 'scanner' },
    });
    for (const key of keys) expect(listed.out + service.log.join('')).not.toContain(key);
  });

  test('--leaked finds keys that were rotated, and reports unknown keys', async () => {
    const guild = newGuild();
    const { key, id } = await createKey(guild);
    await json(['keys', 'rotate', id, '--grace', '3600']);
    const otherDatabase = await createTestDatabase();
    const other = await startTestAuth({ databaseUrl: otherDatabase.url });
    const { secret } = (await other.admin.createKey({
      guildId: guild,
      name: '',
      legacy: true,
      scopes: [],
      ipAllowlist: [],
      actor: '',
    })) as { secret: string };
    await other.stop();
    await otherDatabase.drop();
    const { findings } = await json(['keys', 'revoke', '--leaked'], {
      input: `${JSON.stringify({ token: key })}\n${JSON.stringify({ token: secret })}\n`,
    });
    expect(findings.map(({ result }: { result: string }) => result)).toEqual(['revoked', 'unknown']);
  });
});
