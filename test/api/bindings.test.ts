import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Platform } from '#platforms/fixture.ts';
import { bindingsRoutes } from '#proto/rest/bindings.ts';
import { bindingsWorld, OFFICER, rankBinding } from '#services/bindings/fixture.ts';
import { type Call, type Network, startNetwork } from '../system/system.ts';

let network: Network;
let guild: string;
let key: string;

beforeAll(async () => {
  network = await startNetwork();
  await new Platform(network.simulators.game).putWorld(bindingsWorld());
});
afterAll(() => network.stop());

let guilds = 0;
// Each test has its own guild, and so its own limits.
beforeEach(async () => {
  guild = String(900_000_000_000_000_000n + BigInt(++guilds));
  key = (await network.createKey({ guildId: guild, scopes: ['lookup:read'] })).secret;
});

const call = (path: string, options: Call = {}) => network.call(path, { key, ...options });
const list = (options: Call = {}) => call('/bindings/list', { headers: { 'x-guild-id': guild }, ...options });
const post = (path: string, body: object, options: Call = {}) => call(path, { method: 'POST', body, ...options });
const add = (fields: object, options?: Call) => post('/bindings/add', { guild_id: guild, ...fields }, options);
const update = (body: object, options?: Call) => call('/bindings/update', { method: 'PATCH', body, ...options });
const remove = (id: number, options?: Call) => call(`/bindings/remove/${id}`, { method: 'DELETE', ...options });

async function link(chatId: string, gameId: number): Promise<void> {
  const verifier = await network.createKey({ guildId: guild, scopes: ['verify:write'] });
  const body = { guild_id: guild, chat_id: chatId, game_id: gameId, game_username: 'AdaBuilds' };
  expect((await post('/verification/link', body, { key: verifier.secret })).status).toBe(201);
}

const binding = {
  id: expect.any(Number),
  chat_role_id: OFFICER,
  chat_role_name: 'Officer',
  binding_type: 'group_rank',
  game_group_id: 501,
  game_group_name: 'Harbor Crew',
  min_rank: 50,
  max_rank: 255,
  gamepass_id: null,
  asset_id: null,
  badge_id: null,
  account_age_platform: null,
  account_age_min_days: null,
  priority: null,
};

describe('every route of bindings returns its documented response', () => {
  it('add, list, update, test, validate and remove, with a key that has other scopes', async () => {
    const added = await add(rankBinding());
    expect(added.json).toEqual({ status: 'success', code: 201, message: 'Binding added', data: binding });
    expect(added.headers.get('x-ratelimit-limit')).toBe('30');
    const { id } = added.json.data;

    const listed = await list();
    const data = { bindings: [added.json.data] };
    expect(listed.json).toEqual({ status: 'success', code: 200, message: 'Bindings listed', data });
    expect(listed.headers.get('x-ratelimit-limit')).toBe('100');

    const updated = await update({ binding_id: id, min_rank: 60, priority: 3 });
    const changed = { ...added.json.data, min_rank: 60, priority: 3 };
    expect(updated.json).toEqual({ status: 'success', code: 200, message: 'Binding updated', data: changed });

    await link('920000000000000001', 7001);
    const tested = await post('/bindings/test', { guild_id: guild, chat_id: '920000000000000001', binding_id: id });
    const reason = 'rank 50 is below the minimum of 60';
    expect(tested.json).toEqual({
      status: 'success',
      code: 200,
      message: 'Binding tested',
      data: { matches: false, reason, user_rank: 50 },
    });

    const validated = await post('/bindings/validate', { game_group_id: 501, min_rank: 50, max_rank: 255 });
    expect(validated.json).toEqual({
      status: 'success',
      code: 200,
      message: 'Configuration checked',
      data: { valid: true, group_id: 501, group_name: 'Harbor Crew' },
    });

    const removed = await remove(id);
    expect(removed.json).toEqual({
      status: 'success',
      code: 200,
      message: 'Binding removed',
      data: { removed: true, id },
    });
    expect((await list()).json.data).toEqual({ bindings: [] });
  });

  it('each response matches the schema of its route', async () => {
    const added = await add({ chat_role_id: OFFICER, binding_type: 'badge', game_badge_id: 801 });
    expect(bindingsRoutes.addBinding.data.safeParse(added.json.data).error).toBeUndefined();
    expect(bindingsRoutes.listBindings.data.safeParse((await list()).json.data).error).toBeUndefined();
  });
});

describe('the guild', () => {
  it('is read from X-Guild-ID for a list, from the body if required there, otherwise from the key', async () => {
    const without = await list({ headers: {} });
    expect(without.json.details).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ path: 'header.X-Guild-ID' }] });
    expect((await post('/bindings/add', rankBinding())).json.details.errors).toMatchObject([{ path: 'body.guild_id' }]);
    const { id } = (await add(rankBinding())).json.data;
    expect((await update({ binding_id: id, priority: 1 })).status).toBe(200);
    expect((await update({ binding_id: id, priority: 2, guild_id: guild })).status).toBe(200);
    expect((await remove(id)).status).toBe(200);
  });

  it("other than the key's gets 403 on every route, and a binding of another guild 404", async () => {
    const { id } = (await add(rankBinding())).json.data;
    const other = { key: (await network.createKey({ guildId: '900000000000000055' })).secret };
    const foreign = [
      await list(other),
      await add(rankBinding(), other),
      await update({ binding_id: id, priority: 1, guild_id: guild }, other),
      await post('/bindings/validate', { guild_id: guild, game_group_id: 1, min_rank: 0, max_rank: 1 }, other),
      await post('/bindings/test', { guild_id: guild, chat_id: '920000000000000001', binding_id: id }, other),
      await call(`/bindings/remove/${id}`, { method: 'DELETE', ...other, headers: { 'x-guild-id': guild } }),
    ];
    for (const response of foreign)
      expect([response.status, response.json.details.code]).toEqual([403, 'GUILD_MISMATCH']);
    for (const response of [await update({ binding_id: id, priority: 1 }, other), await remove(id, other)]) {
      expect([response.status, response.json.details.code]).toEqual([404, 'NOT_FOUND']);
    }
  });
});

describe('rejected requests', () => {
  it('get the errors of the contract', async () => {
    const codes = async (response: Promise<{ status: number; json: { details: { code: string } } }>) => {
      const { status, json } = await response;
      return `${status} ${json.details.code}`;
    };
    expect(await codes(add(rankBinding({ max_rank: 1 })))).toBe('400 INVALID_REQUEST');
    expect(await codes(add(rankBinding({ game_group_id: 599 })))).toBe('400 INVALID_TARGET');
    expect(await codes(add(rankBinding({ chat_role_id: '910000000000000777' })))).toBe('400 INVALID_REQUEST');
    expect(await codes(add(rankBinding({ chat_role_id: '910000000000000010' })))).toBe('422 NOT_APPLICABLE');
    expect(await codes(list({ key: undefined }))).toBe('401 MISSING_API_KEY');
    expect(await codes(call('/bindings/add', { headers: { 'x-guild-id': guild } }))).toBe('405 METHOD_NOT_ALLOWED');
    expect(await codes(update({ binding_id: 1 }))).toBe('400 INVALID_REQUEST');
    expect(await codes(remove(999_999))).toBe('404 NOT_FOUND');
  });

  it('the 31st write in a window gets 429 of bindings_write; lists are counted separately', async () => {
    // Works even if a window ends in between.
    const body = { binding_id: 999_999, priority: 1 };
    const responses = await Promise.all(Array.from({ length: 61 }, () => update(body)));
    const rejected = responses.filter(({ status }) => status === 429);
    expect(rejected.length).toBeGreaterThanOrEqual(1);
    expect(rejected[0]?.json.details).toMatchObject({ category: 'bindings_write', limit: 30, window: 60 });
    expect((await list()).status).toBe(200);
  });
});

describe('a repeated write with an Idempotency-Key', () => {
  it('gets the first response again, on each of the three routes', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const twice = async (ask: () => ReturnType<typeof call>) => {
      const [first, again] = [await ask(), await ask()];
      expect([again.status, again.json]).toEqual([first.status, first.json]);
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      return first.json.data;
    };
    const { id } = await twice(() => add(rankBinding(), { headers }));
    await twice(() => update({ binding_id: id, priority: 1 }, { headers }));
    await twice(() => remove(id, { headers }));
  });
});

describe('with BINDINGS_WRITE_SCOPE', () => {
  it('add, update and remove need that scope, the other routes do not, and the documentation says so', async () => {
    const { id } = (await add(rankBinding())).json.data;
    await network.startOne('gateway', { BINDINGS_WRITE_SCOPE: 'sync:write' });
    for (const response of [
      await add(rankBinding()),
      await update({ binding_id: id, priority: 1 }),
      await remove(id),
    ]) {
      expect(response.status).toBe(403);
      expect(response.json.details).toEqual({ code: 'MISSING_SCOPE', required_scope: 'sync:write' });
    }
    expect((await list()).status).toBe(200);
    const sound = { game_group_id: 501, min_rank: 50, max_rank: 255 };
    expect((await post('/bindings/validate', sound)).status).toBe(200);
    const syncing = await network.createKey({ guildId: guild, scopes: ['sync:write'] });
    expect((await remove(id, { key: syncing.secret })).status).toBe(200);
    const document = await (await fetch(network.api.replace('/api/v1', '/openapi.json'))).json();
    expect(document).toHaveProperty(['paths', '/api/v1/bindings/add', 'post', 'x-required-scope'], 'sync:write');
    expect(document).not.toHaveProperty(['paths', '/api/v1/bindings/list', 'get', 'x-required-scope']);
  });
});
