import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

const ADA = '920000000000000001';

let network: Network;
let key: string;

beforeAll(async () => {
  network = await startNetwork();
  key = (await network.createKey()).secret;
});
afterAll(() => network.stop());

const get = (path: string, secret = key) => network.call(path, { key: secret });
const keyWith = async (...scopes: string[]) => (await network.createKey({ scopes })).secret;

describe('members and roles through the gateway', () => {
  it('are returned with the links of the guild to a key with members:read', async () => {
    const link = { guild_id: GUILD, chat_id: ADA, game_id: 7001 };
    expect((await network.call('/verification/link', { method: 'POST', key, body: link })).status).toBe(201);
    const list = await get(`/guilds/${GUILD}/members?verified=true`);
    expect(list.json).toEqual({
      status: 'success',
      code: 200,
      message: 'Members listed',
      data: {
        members: [
          {
            chat_id: ADA,
            username: 'ada',
            nickname: null,
            roles: ['910000000000000001', '910000000000000006'],
            joined_at: 1_704_448_800,
            verified: true,
            game_id: 7001,
            game_username: 'AdaBuilds',
          },
        ],
        next_cursor: null,
      },
    });
    const one = await get(`/guilds/${GUILD}/members/${ADA}`);
    expect(one.json.data).toEqual(list.json.data.members[0]);
  });

  it('need members:read; roles need only a valid key', async () => {
    const other = await keyWith('lookup:read');
    for (const path of [`/guilds/${GUILD}/members`, `/guilds/${GUILD}/members/${ADA}`]) {
      const rejected = await get(path, other);
      expect([rejected.status, rejected.json.details.required_scope]).toEqual([403, 'members:read']);
    }
    expect((await get(`/guilds/${GUILD}/roles`, other)).json.data.roles).toHaveLength(9);
    expect((await network.call(`/guilds/${GUILD}/roles`)).status).toBe(401);
  });

  it('of another guild are not accessible', async () => {
    for (const path of ['members', `members/${ADA}`, 'roles']) {
      const rejected = await get(`/guilds/${OTHER_GUILD}/${path}`);
      expect([rejected.status, rejected.json.details.code]).toEqual([403, 'GUILD_MISMATCH']);
    }
  });

  it('count towards the limits of their categories', async () => {
    const limits = async (path: string) => (await get(path)).headers.get('x-ratelimit-limit');
    expect(await limits(`/guilds/${GUILD}/members`)).toBe('100');
    expect(await limits(`/guilds/${GUILD}/roles`)).toBe('100');
  });

  it('reject invalid parameters', async () => {
    expect((await get(`/guilds/${GUILD}/members/7`)).status).toBe(400);
    expect((await get(`/guilds/${GUILD}/members/920000000000000099`)).status).toBe(404);
    expect((await get(`/guilds/${GUILD}/members?limit=101`)).json.details.errors[0].path).toBe('query.limit');
  });
});

describe('nicknames through the gateway', () => {
  const sync = (body: object, secret = key) => {
    return network.call('/sync/nickname', { method: 'POST', key: secret, body: { guild_id: GUILD, ...body } });
  };

  it('are created from a template with a key with sync:write', async () => {
    const response = await sync({ chat_id: ADA, template: '{game_username}' });
    expect(response.json.data).toEqual({ chat_id: ADA, from: null, to: 'AdaBuilds' });
    expect(response.headers.get('x-ratelimit-limit')).toBe('30');
    const rejected = await sync({ chat_id: ADA, nickname: 'Ada' }, await keyWith('members:read'));
    expect([rejected.status, rejected.json.details.required_scope]).toEqual([403, 'sync:write']);
  });

  it('need the guild of the key in the body', async () => {
    expect((await sync({ guild_id: OTHER_GUILD, chat_id: ADA, nickname: 'Ada' })).status).toBe(403);
    expect((await sync({ guild_id: undefined, chat_id: ADA, nickname: 'Ada' })).status).toBe(400);
    expect((await sync({ chat_id: ADA, nickname: 'x'.repeat(33) })).json.details.code).toBe('NOT_APPLICABLE');
  });
});

describe('roles through the gateway', () => {
  const post = (path: string, body: object, secret = key) => {
    return network.call(path, { method: 'POST', key: secret, body: { guild_id: GUILD, ...body } });
  };

  it('are synced with the bindings with a key with sync:write', async () => {
    const binding = {
      chat_role_id: '910000000000000003',
      binding_type: 'group_rank',
      game_group_id: 501,
      min_rank: 50,
      max_rank: 255,
    };
    expect((await post('/bindings/add', binding)).status).toBe(201);
    const dry = await post('/sync/roles', { game_id: 7001, dry_run: true });
    const response = await post('/sync/roles', { game_id: 7001 });
    expect(response.json.data).toEqual({
      chat_id: ADA,
      game_id: 7001,
      added: ['910000000000000003'],
      removed: [],
      unchanged: [],
      failed: [],
      nickname: null,
      bindings: { evaluated: 1, matched: 1, unknown: 0 },
      dry_run: false,
    });
    expect(dry.json.data).toEqual({ ...response.json.data, dry_run: true });
    expect((await get(`/guilds/${GUILD}/members/${ADA}`)).json.data.roles).toContain('910000000000000003');
    const rejected = await post('/sync/roles', { game_id: 7001 }, await keyWith('members:read'));
    expect([rejected.status, rejected.json.details.required_scope]).toEqual([403, 'sync:write']);
    expect((await post('/sync/roles', { guild_id: OTHER_GUILD, game_id: 7001 })).status).toBe(403);
  });
});
