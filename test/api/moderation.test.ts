import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { moderationRoutes } from '#proto/rest/moderation.ts';
import { shieldRoutes } from '#proto/rest/shield.ts';
import { type Call, type CallResult, GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

let network: Network;
/** A key with the scopes of a game server. */
let key: string;

beforeAll(async () => {
  network = await startNetwork();
  key = (await network.createKey()).secret;
});
afterAll(() => network.stop());

const at = (path: string, guild = GUILD) => `/moderation/${guild}${path}`;
const get = (path: string, options: Call = {}) => network.call(path, { key, ...options });
const post = (path: string, body: unknown, options: Call = {}) =>
  network.call(path, { method: 'POST', key, body, ...options });
let lastPlayer = 7_000;
const newPlayer = () => ++lastPlayer;

const ROUTES = { ...moderationRoutes, ...shieldRoutes };
const FLAG = `/guilds/${GUILD}/shield/7`;
/** A valid request to each route. */
const CALLS: Record<keyof typeof ROUTES, [string, Call]> = {
  getBanStatus: [at('/ban-status/7'), {}],
  getMuteStatus: [at('/mute-status/7'), {}],
  getGameStatuses: [at('/game/status'), { method: 'POST', body: { game_ids: [7] } }],
  checkShield: ['/shield/check/7', { headers: { 'x-guild-id': GUILD } }],
  checkShieldBatch: ['/shield/batch', { method: 'POST', body: { guild_id: GUILD, game_ids: [7] } }],
  banPlayer: [at('/game/ban'), { method: 'POST', body: { game_id: 7, reason: 'R', replace: true } }],
  mutePlayer: [at('/game/mute'), { method: 'POST', body: { game_id: 7, reason: 'R', replace: true } }],
  unbanPlayer: [at('/game/unban'), { method: 'POST', body: { game_id: 7 } }],
  unmutePlayer: [at('/game/unmute'), { method: 'POST', body: { game_id: 7 } }],
  listActiveBans: [at('/game/bans/active'), {}],
  listActiveMutes: [at('/game/mutes/active'), {}],
  listModerationLogs: [at('/logs'), {}],
  flagPlayer: [FLAG, { method: 'PUT', body: { reason: 'R', category: 'scammer' } }],
  unflagPlayer: [FLAG, { method: 'DELETE' }],
  listFlags: [`/guilds/${GUILD}/shield`, {}],
};
const routes = Object.entries(ROUTES).map(([name, row]) => {
  return [name, row, ...CALLS[name as keyof typeof CALLS]] as const;
});
const LIMITS = { moderation_check: '300', moderation_read: '100', moderation_write: '50' } as Record<string, string>;

function expectError({ status, json }: CallResult, code: number, name: string): void {
  expect({ status, json }).toMatchObject({ status: code, json: { status: 'error', code, details: { code: name } } });
}

describe.each(routes)('%s', (_name, row, path, options) => {
  it('responds in the envelope and counts towards its category', async () => {
    const { status, json, headers } = await network.call(path, { key, ...options });
    expect(json).toMatchObject({ status: 'success', code: row.status, message: row.message });
    expect([status, headers.get('x-ratelimit-limit')]).toEqual([row.status, LIMITS[row.category ?? '']]);
    expect(row.data.safeParse(json.data).error).toBeUndefined();
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('needs a key of this guild with its scope', async () => {
    expectError(await network.call(path, options), 401, 'MISSING_API_KEY');
    const other = await network.createKey({ guildId: OTHER_GUILD });
    expectError(await network.call(path, { ...options, key: other.secret }), 403, 'GUILD_MISMATCH');
    const scopes = row.scope === 'moderation:write' ? ['moderation:read'] : ['lookup:read'];
    const narrow = await network.createKey({ scopes });
    const rejected = await network.call(path, { ...options, key: narrow.secret });
    expectError(rejected, 403, 'MISSING_SCOPE');
    expect(rejected.json.details.required_scope).toBe(row.scope);
    for (const { id } of [narrow, other]) await network.admin().revokeKey({ keyId: id, actor: 'test' });
  });
});

describe('bans and mutes', () => {
  it('a ban appears in status, list and log until it is lifted', async () => {
    const player = newPlayer();
    const status = async () => (await get(at(`/ban-status/${player}`))).json.data;
    expect(await status()).toEqual({ banned: false });
    const body = { game_id: player, reason: 'Читы 作弊\n2', moderator_game_id: '7002', duration: '7d' };
    const banned = await post(at('/game/ban'), body);
    expect(banned.status).toBe(201);
    const record = banned.json.data;
    expect(record.expires_at - record.created_at).toBe(7 * 86_400);
    expect(await status()).toEqual({
      banned: true,
      ban_info: {
        reason: 'Читы 作弊\n2',
        banned_by: '7002',
        created_at: record.created_at,
        expires_at: record.expires_at,
        is_permanent: false,
      },
    });
    const listed = (await get(at('/game/bans/active?limit=100'))).json.data;
    expect(listed.bans).toContainEqual(record);
    expectError(await post(at('/game/ban'), body), 409, 'CONFLICT');
    const lifted = await post(at('/game/unban'), { game_id: player });
    expect([lifted.status, lifted.json.data]).toEqual([
      200,
      { ...record, lifted_at: expect.any(Number), lifted_count: 1 },
    ]);
    expect(await status()).toEqual({ banned: false });
    expectError(await post(at('/game/unban'), { game_id: player }), 404, 'NOT_FOUND');
    const changes = (await get(at(`/game/bans/active?updated_since=${listed.server_time}`))).json.data;
    expect(changes.lifted.map(({ id }: { id: number }) => id)).toContain(record.id);
    const log = (await get(at(`/logs?game_id=${player}`))).json.data.logs;
    expect(log.map(({ action }: { action: string }) => action)).toEqual(['unban', 'ban']);
  });

  it('a repeated write with an Idempotency-Key gets the first response again', async () => {
    const body = { game_id: newPlayer(), reason: 'R' };
    const headers = { 'idempotency-key': 'ban once' };
    const first = await post(at('/game/ban'), body, { headers });
    const repeat = await post(at('/game/ban'), { reason: 'R', game_id: body.game_id }, { headers });
    expect([repeat.status, repeat.json, repeat.headers.get('idempotency-replayed')]).toEqual([201, first.json, 'true']);
  });

  it('invalid requests get all faults together, and another guild in the body gets 403', async () => {
    const wrong = await post(at('/game/ban'), { game_id: 'x', reason: 'a\u0000', duration: 'long', scope: 'moon' });
    expectError(wrong, 400, 'INVALID_REQUEST');
    expect(wrong.json.details.errors.map(({ path }: { path: string }) => path)).toEqual([
      'body.game_id',
      'body.reason',
      'body.duration',
      'body.scope',
    ]);
    const mismatch = { guild_id: OTHER_GUILD, game_id: 1, reason: 'R' };
    expectError(await post(at('/game/ban'), mismatch), 403, 'GUILD_MISMATCH');
    expectError(await get(at('/ban-status/abc')), 400, 'INVALID_REQUEST');
    expectError(await get('/shield/check/7'), 400, 'INVALID_REQUEST');
    expectError(await post(at('/ban-status/7'), {}), 405, 'METHOD_NOT_ALLOWED');
    const notAllowed = await get(FLAG);
    expectError(notAllowed, 405, 'METHOD_NOT_ALLOWED');
    expect(notAllowed.headers.get('allow')).toBe('PUT, DELETE');
  });

  it('reach every live game server as commands, except the server that they came from', async () => {
    const heartbeat = (server: string) =>
      post('/game/servers/heartbeat', {
        guild_id: GUILD,
        server_id: server,
        place_id: 4001,
        player_count: 1,
        max_players: 10,
      });
    const [source, other] = ['server-source', 'server-other'];
    for (const server of [source, other]) expect((await heartbeat(server)).status).toBe(200);
    const commandsOf = async (server: string, wait: number) =>
      (await get(`/game/servers/${server}/commands?wait=${wait}`, { headers: { 'x-guild-id': GUILD } })).json.data
        .commands;
    const player = newPlayer();
    await post(at('/game/ban'), { game_id: player, reason: 'R', source_server_id: source, moderator_game_id: 5 });
    const [command] = await commandsOf(other, 5);
    expect(command).toMatchObject({
      type: 'ban',
      target: { game_id: player, game_username: null },
      payload: { reason: 'R', scope: 'global', is_permanent: true },
      issued_by: '5',
    });
    expect(await commandsOf(source, 0)).toEqual([]);
  });
});

it('without the moderation service only its routes get 503 with Retry-After; it recovers within 10 s', async () => {
  const ports = network.samePorts('moderation');
  await network.services.get('moderation')?.stop();
  const response = await get(at('/ban-status/7'));
  expectError(response, 503, 'UNAVAILABLE');
  expect(response.headers.has('retry-after')).toBe(true);
  expect((await get('/whoami')).status).toBe(200);
  await network.startOne('moderation', ports);
  await expect.poll(async () => (await get(at('/ban-status/7'))).status, { timeout: 10_000 }).toBe(200);
});
