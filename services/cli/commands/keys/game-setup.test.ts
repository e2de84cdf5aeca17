import sodium, { ready, to_string } from 'libsodium-wrappers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Simulators, startSimulators } from '#local/simulators/main.ts';
import { Platform } from '#platforms/fixture.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { ADMIN_SECRET, startTestAuth, type TestAuth } from '#test/system/auth.ts';
import { runGuildctl } from '../../fixtures/guildctl.ts';

const UNIVERSE = '30001';
const URL = 'https://data.example.com';
const PLATFORM_KEY = 'test-platform-key';

let database: TestDatabase;
let auth: TestAuth;
let simulators: Simulators;
let game: Platform;
let lastGuild = 900000000000000000n;

beforeAll(async () => {
  await ready;
  database = await createTestDatabase();
  auth = await startTestAuth({ databaseUrl: database.url });
  simulators = await startSimulators({});
  game = new Platform(simulators.game);
});
afterAll(async () => {
  await simulators.stop();
  await auth.stop();
  await database.drop();
});

interface Created {
  id: string;
  key: string;
  script: string;
  installed: { universe_id: number; secret: string; domain: string } | null;
}

async function run(words: string[], environment: Record<string, string> = {}) {
  const access = { GUILDCTL_AUTH: auth.address, ADMIN_SECRETS: ADMIN_SECRET };
  const platform = { GAME_APIS_URL: simulators.game, GAME_API_KEY: PLATFORM_KEY };
  return runGuildctl([...words], { ...access, ...platform, ...environment });
}

async function create(...words: string[]): Promise<Created> {
  const { status, out, error } = await run(['keys', 'create', '--guild', String(++lastGuild), ...words, '--json']);
  expect([status, error]).toEqual([0, '']);
  return JSON.parse(out) as Created;
}

/** Returns a secret of the universe as the platform decrypts it. */
function decrypted(name: string): string | undefined {
  const { keys } = simulators.world.secrets;
  const stored = simulators.world.secrets.of(UNIVERSE).get(name);
  if (!stored) return undefined;
  return to_string(sodium.crypto_box_seal_open(Buffer.from(stored.secret, 'base64'), keys.publicKey, keys.privateKey));
}

describe('keys create --for game', () => {
  test('prints a script that names the guild, the gateway and the secret, and never the key', async () => {
    const created = await create('--for', 'game', '--url', `${URL}/`);
    expect(created.installed).toBeNull();
    // The module reads the secret with the default name itself, and explains what to do if it is missing.
    expect(created.script).not.toMatch(/GetSecret|secretName/);
    expect(created.script).toContain(`guildId = "${lastGuild}"`);
    expect(created.script).toContain(`baseUrl = "${URL}"`);
    expect(created.script).not.toContain(created.key);
    const { out } = await run(['keys', 'create', '--guild', String(++lastGuild), '--for', 'game', '--url', URL]);
    expect(out).toContain(
      'Store the key as the secret guild_data_key of the experience, with the domain data.example.com.',
    );
  });

  test('with --install stores the key so that only the platform can read it, for one domain, and replaces it later', async () => {
    const install = ['--for', 'game', '--install', UNIVERSE, '--url', URL, '--secret', 'data_key'];
    const first = await create(...install);
    const installed = { universe_id: 30001, secret: 'data_key', domain: 'data.example.com' };
    expect(first.installed).toEqual(installed);
    expect(decrypted('data_key')).toBe(first.key);
    expect(first.script).toContain('secretName = "data_key",');
    expect(simulators.world.secrets.of(UNIVERSE).get('data_key')?.domain).toBe('data.example.com');
    const second = await create(...install);
    expect(second.installed).toEqual(installed);
    expect(decrypted('data_key')).toBe(second.key);
  });

  test('requires the gateway address to install, reports every fault, and then creates no key', async () => {
    const guild = String(++lastGuild);
    const words = [
      'keys',
      'create',
      '--guild',
      guild,
      '--for',
      'game',
      '--install',
      'x',
      '--secret',
      '1',
      '--url',
      'x',
    ];
    const faulty = await run(words);
    expect(faulty.status).toBe(1);
    for (const option of ['--install', '--secret', '--url']) expect(faulty.error).toContain(`${option} must be`);
    const missing = await run(['keys', 'create', '--guild', guild, '--for', 'game', '--install', UNIVERSE]);
    expect(missing.error).toContain('--url is required');
    const other = await run(['keys', 'create', '--guild', guild, '--all-scopes', '--install', UNIVERSE, '--url', URL]);
    expect(other.error).toContain('--install requires --for game');
    expect(JSON.parse((await run(['keys', 'list', '--guild', guild, '--json'])).out)).toMatchObject({ keys: [] });
  });

  test.each([
    ['rejects the platform key', { status: 401 }, 'does not know the key in GAME_API_KEY'],
    ['lacks the permission', { status: 403 }, 'universe.secret:write'],
    ['is overloaded', { status: 429 }, 'Try again in a minute'],
    ['fails', { status: 500 }, 'status 500'],
    ['resets the connection', { reset: true }, 'cannot be reached'],
    ['sends invalid JSON', { broken: true }, 'unexpected'],
  ])(
    'when the platform %s, prints the key all the same, says why, and ends with status 1',
    async (_name, fault, why) => {
      await game.fault('/cloud/v2/universes', fault);
      const words = ['--for', 'game', '--install', UNIVERSE, '--url', URL];
      const { status, out } = await run(['keys', 'create', '--guild', String(++lastGuild), ...words]);
      await game.forget();
      expect(status).toBe(1);
      expect(out).toMatch(/service_\d+_\w{38}/);
      expect(out).toContain(why);
      expect(out).not.toContain(PLATFORM_KEY);
    },
  );

  test('without GAME_API_KEY the key is printed, and the error names the variable', async () => {
    const words = [
      'keys',
      'create',
      '--guild',
      String(++lastGuild),
      '--for',
      'game',
      '--install',
      UNIVERSE,
      '--url',
      URL,
    ];
    const { status, out } = await run(words, { GAME_API_KEY: '' });
    expect([status, /service_\d+_\w{38}/.test(out), out.includes('GAME_API_KEY is required')]).toEqual([1, true, true]);
  });
});

describe('keys doctor', () => {
  interface Check {
    name: string;
    ok: boolean;
    message: string;
    fix: string | null;
  }

  async function doctor(...words: string[]): Promise<{ status: number; checks: Check[] }> {
    const { status, out, error } = await run(['keys', 'doctor', ...words, '--json']);
    expect(error).toBe('');
    return { status, ...(JSON.parse(out) as { checks: Check[] }) };
  }
  const failedOf = (checks: Check[]) => checks.filter(({ ok }) => !ok).map(({ name }) => name);

  test('finds that a new key was never used, and nothing else', async () => {
    const { id } = await create('--for', 'game', '--install', UNIVERSE, '--url', URL, '--secret', 'doctor_key');
    const { status, checks } = await doctor(id, '--universe', UNIVERSE, '--secret', 'doctor_key');
    expect([status, failedOf(checks)]).toEqual([1, ['use']]);
    expect(checks.map(({ name }) => name)).toEqual(['key', 'scopes', 'addresses', 'use', 'secret']);
    for (const { ok, fix } of checks) expect(fix === null).toBe(ok);
  });

  test('finds missing scopes, an allowlist, a revoked key, and a secret that is missing or for another domain', async () => {
    const { id } = await create('--scopes', 'lookup:read', '--allow-ip', '192.0.2.1');
    expect(failedOf((await doctor(id, '--universe', UNIVERSE, '--secret', 'missing')).checks)).toEqual([
      'scopes',
      'addresses',
      'use',
      'secret',
    ]);
    const installed = await create('--for', 'game', '--install', UNIVERSE, '--url', URL, '--secret', 'moved_key');
    await run(['keys', 'revoke', installed.id]);
    const words = [installed.id, '--universe', UNIVERSE, '--secret', 'moved_key', '--url', simulators.game];
    const { checks } = await doctor(...words);
    expect(failedOf(checks)).toEqual(['key', 'use', 'gateway', 'secret']);
    expect(checks.find(({ name }) => name === 'secret')?.message).toContain('data.example.com, not to 127.0.0.1');
    expect(failedOf((await doctor(`${lastGuild}-99`)).checks)).toEqual(['key']);
  });

  test('reports a platform that does not respond instead of a missing secret, with the other checks', async () => {
    const { id } = await create('--for', 'game');
    await game.fault('/cloud/v2/universes', { status: 503 });
    const { status, checks } = await doctor(id, '--universe', UNIVERSE);
    await game.forget();
    expect([status, failedOf(checks)]).toEqual([1, ['use', 'secret']]);
    expect(checks.at(-1)?.message).toContain('The game platform responded with status 503');
    const { out } = await run(['keys', 'doctor', id, '--universe', UNIVERSE], { GAME_API_KEY: '' });
    expect(out).toContain('GAME_API_KEY is required');
  });

  test.each(['nonsense', '900000000000000001', `service_900000000000000001_${'a'.repeat(38)}`])(
    'rejects %s, which is no key ID, and does not repeat it',
    async (words) => {
      const { status, error } = await run(['keys', 'doctor', words]);
      expect([status, error.includes('a KEY_ID is required'), error.includes(words)]).toEqual([
        1,
        true,
        words === '900000000000000001',
      ]);
    },
  );
});
