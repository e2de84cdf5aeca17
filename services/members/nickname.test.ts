import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Platform } from '#platforms/fixture.ts';
import { GUILD, MembersFixture, statusesOf } from './fixture.ts';

const ADA = '920000000000000001';
const BRUNO = '920000000000000002';
const GRACE = '920000000000000007';
const JONAS = '920000000000000010';
const LENA = '920000000000000012';
const NOBODY = '920000000000009999';
const OFFICER = '910000000000000001';
const NICKNAME = 'PATCH /api/v10/guilds/:guild/members/:user';

const fixture = new MembersFixture();
let chat: Platform;
let game: Platform;

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  game = new Platform(fixture.simulators.game);
  await fixture.link(ADA, 7001);
  await fixture.link(GRACE, 7007);
  await fixture.link(BRUNO, 7002);
});
afterEach(async () => {
  fixture.clock.advance(60_000);
  await Promise.all([chat.forget(), game.forget()]);
});
afterAll(() => fixture.stop());

const sync = (chatId: string, fields: object, request: object = {}) =>
  fixture.post('/sync/nickname', { guild_id: GUILD, chat_id: chatId, ...fields }, request);
const written = async () => (await chat.calls())[NICKNAME] ?? 0;

async function nicknameOf(chatId: string): Promise<string | null> {
  return (await fixture.get(`/guilds/${GUILD}/members/${chatId}`)).body.data.nickname;
}

describe('POST /sync/nickname', () => {
  test('sets and removes a nickname, with a reason in the audit log', async () => {
    const response = await sync(ADA, { nickname: ' Ada of the Sea ' });
    expect(response.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Nickname synchronised',
      data: { chat_id: ADA, from: null, to: 'Ada of the Sea' },
    });
    expect(await nicknameOf(ADA)).toBe('Ada of the Sea');
    const audit = (await (await fetch(`${chat.url}/__audit`)).json()) as { entries: { reason: string }[] };
    expect(audit.entries.at(-1)?.reason).toBe('Guild Data: nickname synchronised');
    expect((await sync(ADA, { nickname: null })).body.data).toEqual({ chat_id: ADA, from: 'Ada of the Sea', to: null });
    expect(await nicknameOf(ADA)).toBeNull();
  });

  test('a nickname that is set already is not written', async () => {
    await sync(ADA, { nickname: 'Ada' });
    await chat.forget();
    expect((await sync(ADA, { nickname: 'Ada' })).body.data).toEqual({ chat_id: ADA, from: 'Ada', to: 'Ada' });
    expect(await written()).toBe(0);
  });

  test('32 characters are accepted, an emoji counts as one; 33 are 422 and nothing is written', async () => {
    const most = '⚓'.repeat(31) + '🌊';
    expect((await sync(ADA, { nickname: most })).body.data.to).toBe(most);
    await chat.forget();
    const response = await sync(ADA, { nickname: `${most}x` });
    expect([response.status, response.body.details.code]).toEqual([422, 'NOT_APPLICABLE']);
    expect((await sync(ADA, { template: '{chat_username}'.repeat(11) })).status).toBe(422);
    expect(await written()).toBe(0);
  });

  test('a template is filled with the names on both platforms and the rank', async () => {
    await fixture.bindRank(OFFICER, { min: 50 });
    expect((await sync(ADA, { template: '[{rank_name}] {game_username}' })).body.data.to).toBe('[Deckhand] Player');
    // The higher one of two ranks.
    expect((await sync(BRUNO, { template: '{rank_name}' })).body.data.to).toBe('Captain');
    expect((await sync(BRUNO, { template: '{rank_name}', game_group_id: 502 })).body.data.to).toBe('Mason');
    // The user is not in the group.
    expect((await sync(GRACE, { template: '{rank_name}' })).body.data.to).toBe('Guest');
    await fixture.query('DELETE FROM bindings.bindings');
    const without = await sync(ADA, { template: '{rank_name}' });
    expect([without.status, without.body.message]).toEqual([422, expect.stringContaining('game_group_id')]);
    const unknown = await sync(ADA, { template: '{rank_name}', game_group_id: 999 });
    expect([unknown.status, unknown.body.details.code]).toEqual([400, 'INVALID_TARGET']);
  });

  test('for an unverified member a template that needs the game account is 404, and others are filled', async () => {
    const rejection = await sync(LENA, { template: '{game_username}' });
    expect([rejection.status, rejection.body.message]).toEqual([404, 'The user is not verified in this guild']);
    const filled = await sync('920000000000000004', { template: '{chat_username}!' });
    expect(filled.body.data.to).toBe('dmitri!');
  });

  test('a member above the bot and the owner are 422 with the reason, without a call', async () => {
    const above = await sync(JONAS, { nickname: 'Jonas' });
    expect([above.status, above.body.details.code]).toEqual([422, 'NOT_APPLICABLE']);
    expect(above.body.message).toContain("not below the bot's");
    const owner = await sync(LENA, { nickname: 'Lena' });
    expect([owner.status, owner.body.details.code]).toEqual([422, 'NOT_APPLICABLE']);
    expect(owner.body.message).toContain('owns the guild');
    expect(await written()).toBe(0);
  });

  test('a bot that may not manage nicknames is 422 with the reason, without a call', async () => {
    type World = { chat: { guilds: { roles: { permissions: string }[] }[] } };
    const world = (await (await fetch(`${chat.url}/__world`)).json()) as World;
    const MANAGE_ROLES = String(1n << 28n);
    for (const role of world.chat.guilds[0]?.roles ?? []) {
      if (role.permissions === '1099914280961') role.permissions = MANAGE_ROLES;
    }
    const own = structuredClone(world);
    await chat.putWorld(own);
    const rejection = await sync(ADA, { nickname: 'Ada unpermitted' });
    expect([rejection.status, rejection.body.details.code]).toEqual([422, 'NOT_APPLICABLE']);
    expect(rejection.body.message).toContain('lacks the permission');
    expect(await written()).toBe(0);
    for (const role of world.chat.guilds[0]?.roles ?? []) {
      if (role.permissions === MANAGE_ROLES) role.permissions = '1099914280961';
    }
    await chat.putWorld(world);
    fixture.clock.advance(60_000);
    expect((await sync(ADA, { nickname: 'Ada permitted' })).status).toBe(200);
  });

  test('an account outside the guild is 404', async () => {
    expect((await sync(NOBODY, { nickname: 'Nobody' })).status).toBe(404);
  });

  test.each([
    ['neither nickname nor template', {}],
    ['both', { nickname: 'Ada', template: '{game_username}' }],
    ['an unknown field in a template', { template: '{game_id}' }],
    ['a template field without a closing brace', { template: '{game_username' }],
    ['a template field without an opening brace', { template: 'game_username}' }],
    ['an empty nickname', { nickname: '' }],
    ['a blank nickname', { nickname: '   ' }],
    ['a blank template', { template: '   ' }],
    ['control characters', { nickname: 'A\nB' }],
    ['a nickname that is not a string', { nickname: 7 }],
    ['an invalid group', { template: '{rank_name}', game_group_id: 0 }],
  ])('%s is 400', async (_what, fields) => {
    expect((await sync(ADA, fields)).status).toBe(400);
  });

  test('null is the same as leaving a field out', async () => {
    expect((await sync(ADA, { nickname: null, template: 'Ada', game_group_id: null })).body.data.to).toBe('Ada');
  });

  test('a repeat with the same Idempotency-Key gets the first response and writes nothing', async () => {
    const first = await sync(ADA, { nickname: 'Ada the First' }, { key: 'once' });
    await sync(ADA, { nickname: 'Ada the Second' });
    await chat.forget();
    const repeat = await sync(ADA, { nickname: 'Ada the First' }, { key: 'once' });
    expect(repeat.headers.get('idempotency-replayed')).toBe('true');
    expect(repeat.body).toEqual(first.body);
    expect(await written()).toBe(0);
    expect((await sync(ADA, { nickname: 'Another' }, { key: 'once' })).status).toBe(409);
  });

  test('two concurrent requests with the same Idempotency-Key write once', async () => {
    await chat.fault('/members/', { delay_ms: 200, times: 1 });
    const responses = await Promise.all([
      sync(ADA, { nickname: 'Ada at once' }, { key: 'twice' }),
      sync(ADA, { nickname: 'Ada at once' }, { key: 'twice' }),
    ]);
    expect(statusesOf(responses)).toEqual([200, 409]);
    expect(await written()).toBe(1);
  });

  test('a failing platform is 502, and the Idempotency-Key can be used again', async () => {
    await chat.fault('/members/', { status: 500, times: 1 });
    const failed = await sync(ADA, { nickname: 'Ada again' }, { key: 'again' });
    expect([failed.status, failed.body.details.code]).toEqual([502, 'PLATFORM_ERROR']);
    expect((await sync(ADA, { nickname: 'Ada again' }, { key: 'again' })).status).toBe(200);
  });

  test('without the bindings service only a template with a rank but without a group fails', async () => {
    await fixture.bindings.stop();
    expect((await sync(ADA, { template: '{game_username}' })).status).toBe(200);
    expect((await sync(ADA, { template: '{rank_name}', game_group_id: 501 })).body.data.to).toBe('Deckhand');
    const failed = await sync(ADA, { template: '{rank_name}' });
    expect([failed.status, failed.headers.has('retry-after')]).toEqual([503, true]);
  });
});
