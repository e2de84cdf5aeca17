import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { guildctl } from '#services/cli/guildctl.ts';
import { withinBound } from '../measure/bounds.ts';
import { GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

// Accounts and roles of the simulators' demo world.
const OFFICER = '910000000000000001';
const CAPTAIN = '910000000000000002';
const VERIFIED = '910000000000000006';
const ADA = { chat_id: '920000000000000001', game_id: 7001 };
const BRUNO = { chat_id: '920000000000000002', game_id: 7002 };
const DMITRI = { chat_id: '920000000000000004', game_id: 7004 };
/** A linked user who is not in the guild. */
const GONE = { chat_id: '920000000000000099', game_id: 7005 };
const UNLINKED = 7003;

const NOT_STAFF = { is_staff: false, level: 0, role_name: null, permissions: [], cache_seconds: 300 };

let network: Network;
let key: string;

beforeAll(async () => {
  network = await startNetwork();
  key = (await network.createKey()).secret;
  for (const account of [ADA, BRUNO, DMITRI, GONE]) {
    await network.call('/verification/link', { method: 'POST', key, body: { guild_id: GUILD, ...account } });
  }
});
afterAll(() => network.stop());

const ask = (gameId: number | string, secret = key, guild = GUILD) =>
  network.call(`/guilds/${guild}/staff/game/${gameId}/permissions`, { key: secret });
const permissionsOf = async (gameId: number) => (await ask(gameId)).json.data;

async function staff(...words: string[]): Promise<void> {
  const said: string[] = [];
  const status = await guildctl(['staff', ...words], {
    environment: {
      GUILDCTL_AUTH: network.address('auth', 'grpc'),
      GUILDCTL_ACTIVITY: network.address('activity', 'grpc'),
      ADMIN_SECRETS: network.secrets.admin,
    },
    user: 'ada',
    out: () => undefined,
    error: (text) => void said.push(text),
  });
  expect([status, ...said]).toEqual([0]);
}

const set = (role: string, level: string, name: string, permissions: string) =>
  staff('set', '--guild', GUILD, '--role', role, '--level', level, '--name', name, '--permissions', permissions);

/** The counters of calls from activity to members for a member's roles, by result. */
async function roleCalls(): Promise<string[]> {
  const metrics = await (await fetch(`http://${network.address('activity', 'admin')}/metrics`)).text();
  return metrics.split('\n').filter((line) => /^grpc_client_handled_total.*GetMemberRoles/.test(line));
}

describe('while the guild has no staff roles', () => {
  it('no player is staff, and members is not called', async () => {
    expect(await permissionsOf(ADA.game_id)).toEqual({ ...ADA, ...NOT_STAFF });
    expect(await roleCalls()).toEqual([]);
  });
});

describe('after guildctl has made chat roles staff roles', () => {
  beforeAll(async () => {
    await set(OFFICER, '5', 'Officer', 'kick,mute');
    await set(CAPTAIN, '0', 'Captain on leave', '');
  });
  afterEach(() => fetch(`${network.simulators.chat}/__faults`, { method: 'DELETE' }));

  it('a member gets level, name and permissions of the staff role', async () => {
    const response = await ask(ADA.game_id);
    expect(response.json).toEqual({
      status: 'success',
      code: 200,
      message: 'Permissions read',
      data: {
        ...ADA,
        is_staff: true,
        level: 5,
        role_name: 'Officer',
        permissions: ['kick', 'mute'],
        cache_seconds: 300,
      },
    });
    expect(response.headers.get('x-ratelimit-limit')).toBe('200');
  });

  it('a member with a staff role of level 0 is staff', async () => {
    const expected = { is_staff: true, level: 0, role_name: 'Captain on leave', permissions: [] };
    expect(await permissionsOf(BRUNO.game_id)).toMatchObject(expected);
  });

  it('a player who is not staff gets 200: without a staff role, not linked, not in the guild', async () => {
    expect(await permissionsOf(DMITRI.game_id)).toEqual({ ...DMITRI, ...NOT_STAFF });
    expect(await permissionsOf(GONE.game_id)).toEqual({ ...GONE, ...NOT_STAFF });
    const before = await roleCalls();
    expect(before).toHaveLength(1);
    expect(await permissionsOf(UNLINKED)).toEqual({ game_id: UNLINKED, chat_id: null, ...NOT_STAFF });
    expect(await roleCalls()).toEqual(before);
  });

  it('several staff roles give the highest level and all permissions; a change applies immediately', async () => {
    await set(VERIFIED, '1', 'Member', 'report,kick');
    expect(await permissionsOf(ADA.game_id)).toMatchObject({
      level: 5,
      role_name: 'Officer',
      permissions: ['kick', 'mute', 'report'],
    });
    await set(VERIFIED, '9', 'Chief', 'report');
    expect(await permissionsOf(ADA.game_id)).toMatchObject({ level: 9, role_name: 'Chief' });
    await staff('remove', '--guild', GUILD, '--role', VERIFIED);
    expect(await permissionsOf(ADA.game_id)).toMatchObject({ level: 5, permissions: ['kick', 'mute'] });
  });

  it('needs activity:write, the guild of the key, and a game ID', async () => {
    const other = (await network.createKey({ scopes: ['members:read', 'lookup:read'] })).secret;
    const rejected = await ask(ADA.game_id, other);
    expect([rejected.status, rejected.json.details.required_scope]).toEqual([403, 'activity:write']);
    expect((await ask(ADA.game_id, key, OTHER_GUILD)).json.details.code).toBe('GUILD_MISMATCH');
    expect((await ask('ada')).json.details.errors[0].path).toBe('path.gameId');
  });

  it('while the chat platform fails, the response is an error and not level 0', async () => {
    const fault = { match: '/members/', status: 503 };
    await fetch(`${network.simulators.chat}/__faults`, { method: 'POST', body: JSON.stringify(fault) });
    const response = await ask(ADA.game_id);
    expect([response.status, response.json.details.code]).toEqual([502, 'PLATFORM_ERROR']);
    // Routes that need no chat roles still work.
    expect(await permissionsOf(UNLINKED)).toMatchObject(NOT_STAFF);
  });

  it.each(['members', 'lookup'])(
    'without %s the response is 503, and it works again within 10 s after its restart',
    async (name) => {
      const ports = network.samePorts(name);
      await network.services.get(name)?.stop();
      const response = await ask(ADA.game_id);
      expect([response.status, response.json.details.code]).toEqual([503, 'UNAVAILABLE']);
      expect(response.headers.has('retry-after')).toBe(true);
      const started = performance.now();
      expect((await ask(ADA.game_id)).status).toBe(503);
      withinBound(`the second to ask without ${name} is permissionsOf so`, performance.now() - started, 100);
      await network.startOne(name, ports);
      await expect.poll(async () => (await ask(ADA.game_id)).status, { timeout: 10_000 }).toBe(200);
      expect(await permissionsOf(ADA.game_id)).toMatchObject({ level: 5 });
    },
  );
});
