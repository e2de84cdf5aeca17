import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import demo from '#local/simulators/demo-world.json' with { type: 'json' };
import { Platform } from '#platforms/fixture.ts';
import { GUILD, MembersFixture, OTHER_GUILD } from './fixture.ts';

const ADA = '920000000000000001';
const BRUNO = '920000000000000002';
const CHIARA = '920000000000000003';
const GRACE = '920000000000000007';
const OFFICER = '910000000000000001';
const CAPTAIN = '910000000000000002';
const TABLE = '910000000000000004';
const VERIFIED = '910000000000000006';
const BOOSTER = '910000000000000008';
const HARBORMASTER = '910000000000000010';
const GONE = '910000000000000099';

const fixture = new MembersFixture();
let chat: Platform;
let game: Platform;
let replica: RunningService;
let bindings: RunningService;

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  game = new Platform(fixture.simulators.game);
  await fixture.query(
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     VALUES ($1, $2, 7001, 'AdaBuilds', 1, now(), now()), ($1, $3, 7003, 'ChiaraKnots', 2, now(), now()),
       ($1, $4, 7002, 'BrunoSails', 3, now(), now())`,
    [GUILD, ADA, CHIARA, BRUNO],
  );
});
afterAll(() => fixture.stop());
// Every test starts with empty caches and closed breakers.
beforeEach(async () => {
  bindings = await fixture.startBindings();
  replica = await fixture.startMembers({ BINDINGS_GRPC_ADDRESS: bindings.addresses.grpc });
});
afterEach(async () => {
  await Promise.all([replica.stop(), bindings.stop()]);
  await Promise.all([chat.forget(), game.forget(), chat.putWorld(demo)]);
  await fixture.query('DELETE FROM bindings.bindings');
  await fixture.query('DELETE FROM members.grants');
});

const explain = (chatId: string, guildId = GUILD) =>
  fixture.get(`/guilds/${guildId}/members/${chatId}/roles`, { guildId, at: replica });
const bindItem = (chatRoleId: string, kind: string, id: number) =>
  fixture.query(
    `INSERT INTO bindings.bindings (guild_id, chat_role_id, type, ${kind}_id, created_at, updated_at)
     VALUES ($1, $2, $3, $4, now(), now())`,
    [GUILD, chatRoleId, kind, id],
  );
const bindAge = (chatRoleId: string, platform: string, days: number) =>
  fixture.query(
    `INSERT INTO bindings.bindings (guild_id, chat_role_id, type, account_age_platform, account_age_min_days, created_at,
       updated_at) VALUES ($1, $2, 'account_age', $3, $4, now(), now())`,
    [GUILD, chatRoleId, platform, days],
  );
const rolesOf = async (chatId: string) => (await explain(chatId)).body.data.roles as Record<string, unknown>[];
const reasonsOf = async (chatId: string) =>
  (await rolesOf(chatId)).flatMap(({ bindings: all }) =>
    (all as { matches: string; code: string; reason: string }[]).map(({ matches, code, reason }) => [
      matches,
      code,
      reason,
    ]),
  );

describe('GET /guilds/:guildId/members/:chatId/roles', () => {
  test('says for each binding whether it matches and why, with the names of role, group and ranks', async () => {
    await fixture.bindRank(CAPTAIN, { min: 200 });
    const response = await explain(ADA);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Roles explained',
      data: {
        chat_id: ADA,
        game_id: 7001,
        game_username: 'AdaBuilds',
        roles: [
          {
            role_id: CAPTAIN,
            role_name: 'Captain',
            has_role: false,
            action: 'none',
            blocked: null,
            bindings: [
              {
                binding_id: expect.any(Number),
                matches: 'no',
                code: 'RANK_TOO_LOW',
                reason: 'Rank 50 (Deckhand) in Harbor Crew is below the minimum of 200 (Captain)',
              },
            ],
          },
        ],
      },
    });
  });

  test('explains ranks, items and ages', async () => {
    await fixture.bindRank(OFFICER, { min: 50, max: 100 });
    await fixture.bindRank(OFFICER, { min: 1, max: 49 });
    await fixture.bindRank(OFFICER, { min: 1, groupId: 502 });
    await bindItem(OFFICER, 'gamepass', 601);
    await bindItem(OFFICER, 'asset', 702);
    await bindAge(OFFICER, 'game', 30);
    await bindAge(OFFICER, 'chat', 36_000);
    expect(await reasonsOf(ADA)).toEqual([
      ['yes', 'RANK_IN_RANGE', 'Rank 50 (Deckhand) in Harbor Crew is within 50 to 100'],
      ['no', 'RANK_TOO_HIGH', 'Rank 50 (Deckhand) in Harbor Crew is above the maximum of 49'],
      ['no', 'NOT_IN_GROUP', 'The user is not in Lighthouse Builders, and the minimum rank is 1'],
      ['yes', 'OWNED', "The user owns the gamepass Captain's Pass"],
      ['no', 'NOT_OWNED', 'The user does not own the asset Oilskin Coat'],
      ['yes', 'OLD_ENOUGH', expect.stringMatching(/^The game account is \d+ days old, at least 30$/)],
      ['no', 'TOO_YOUNG', expect.stringMatching(/^The chat account is \d+ days old, less than 36000$/)],
    ]);
  });

  test('says what a sync would do with each role: add, keep, remove, none', async () => {
    await fixture.bindRank(OFFICER, { min: 50 });
    await fixture.bindRank(VERIFIED, { min: 255 });
    await fixture.bindRank(TABLE, { min: 50 });
    await fixture.bindRank(CAPTAIN, { min: 255 });
    const actions = (await rolesOf(ADA)).map(({ role_id, action, has_role }) => [role_id, action, has_role]);
    expect(actions).toEqual([
      [OFFICER, 'keep', true],
      [VERIFIED, 'remove', true],
      [TABLE, 'add', false],
      [CAPTAIN, 'none', false],
    ]);
    const sync = await fixture.post('/sync/roles', { guild_id: GUILD, chat_id: ADA, dry_run: true }, { at: replica });
    expect(sync.body.data).toMatchObject({ added: [TABLE], removed: [VERIFIED], unchanged: [OFFICER] });
  });

  test('explanations and dry runs repeated within a minute query the inventory of the member once; a sync queries it again', async () => {
    await bindItem(TABLE, 'gamepass', 601);
    const inventories = async () => (await game.calls())['GET /cloud/v2/users/:user/inventory-items'];
    const sync = (dryRun: boolean) =>
      fixture.post('/sync/roles', { guild_id: GUILD, chat_id: ADA, dry_run: dryRun }, { at: replica });
    for (let call = 0; call < 3; call++) expect(await rolesOf(ADA)).toMatchObject([{ action: 'add' }]);
    for (let call = 0; call < 2; call++) expect((await sync(true)).body.data).toMatchObject({ added: [TABLE] });
    expect(await inventories()).toBe(1);
    expect((await sync(false)).body.data).toMatchObject({ added: [TABLE] });
    expect(await inventories()).toBe(2);
  });

  test('a role that a sync assigned and that has no binding any more will be removed', async () => {
    await fixture.query(
      'INSERT INTO members.grants (guild_id, chat_id, role_id, created_at) VALUES ($1, $2, $3, now())',
      [GUILD, ADA, OFFICER],
    );
    expect(await rolesOf(ADA)).toMatchObject([{ role_id: OFFICER, action: 'remove', bindings: [] }]);
  });

  test('a member without a game account matches nothing, and keeps roles that no sync assigned', async () => {
    await fixture.bindRank(OFFICER, { min: 1 });
    const { data } = (await explain(GRACE)).body;
    expect(data).toMatchObject({ chat_id: GRACE, game_id: null, game_username: null });
    expect(data.roles).toMatchObject([
      { role_id: OFFICER, action: 'none', bindings: [{ matches: 'no', code: 'NOT_VERIFIED' }] },
    ]);
  });

  test('says why the bot cannot change a role, and what to do', async () => {
    for (const roleId of [HARBORMASTER, BOOSTER, GONE]) await fixture.bindRank(roleId, { min: 1 });
    expect((await rolesOf(ADA)).map(({ role_name, blocked }) => [role_name, blocked])).toEqual([
      [
        'Harbormaster',
        {
          role_id: HARBORMASTER,
          code: 'ROLE_ABOVE_BOT',
          message: "The role Harbormaster is not below the bot's highest role. Drag the role Guild Data above it",
        },
      ],
      [
        'Server Booster',
        { role_id: BOOSTER, code: 'ROLE_MANAGED', message: 'The role Server Booster belongs to an integration' },
      ],
      [null, { role_id: GONE, code: 'ROLE_UNKNOWN', message: 'The role no longer exists in the guild' }],
    ]);
  });

  test('says that the bot lacks the permission Manage Roles', async () => {
    await fixture.bindRank(OFFICER, { min: 1 });
    const world = structuredClone(demo);
    const roles = world.chat.guilds[0]?.roles as { id: string; permissions?: string }[];
    for (const role of roles) if (role.id === '910000000000000009') role.permissions = '0';
    await chat.putWorld(world);
    expect(await rolesOf(ADA)).toMatchObject([{ role_id: OFFICER, blocked: { code: 'MISSING_PERMISSION' } }]);
  });

  test('names with markup and four-byte characters are returned unchanged', async () => {
    await fixture.bindRank(OFFICER, { min: 255 });
    const world = structuredClone(demo);
    Object.assign(world.chat.guilds[0]?.roles.find(({ id }) => id === OFFICER) ?? {}, { name: '<i>🦈</i>' });
    Object.assign(world.game.groups[0] ?? {}, { name: '<script>🦈' });
    await chat.putWorld(world);
    const [role] = await rolesOf(ADA);
    expect(role).toMatchObject({
      role_name: '<i>🦈</i>',
      bindings: [{ reason: 'Rank 50 (Deckhand) in <script>🦈 is below the minimum of 255 (Harbormaster)' }],
    });
  });

  test('200 bindings of one group take one call for the ranks and two for the names', async () => {
    for (let min = 1; min <= 200; min++) await fixture.bindRank(OFFICER, { min });
    expect((await rolesOf(ADA))[0]).toMatchObject({ bindings: { length: 200 } });
    const calls = await game.calls();
    expect(Object.values(calls).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(5);
  });

  test('an account that is not in the guild is NOT_FOUND, also with a link in another guild', async () => {
    for (const response of [await explain('929999999999999999'), await explain('919999999999999999')]) {
      expect([response.status, response.body.details.code]).toEqual([404, 'NOT_FOUND']);
    }
    expect((await explain(ADA, OTHER_GUILD)).status).toBe(502);
  });

  test('a malformed chat ID is a 400', async () => {
    const response = await explain('ada');
    expect([response.status, response.body.details.errors[0].path]).toEqual([400, 'path.chatId']);
  });
});

describe('while a platform fails', () => {
  test('what the game platform cannot tell is unknown, and the role stays as it is', async () => {
    await fixture.bindRank(OFFICER, { min: 255 });
    await game.fault('/', { status: 500 });
    const [role] = await rolesOf(ADA);
    expect(role).toMatchObject({
      action: 'keep',
      bindings: [
        {
          matches: 'unknown',
          code: 'PLATFORM_UNAVAILABLE',
          reason: "The game platform cannot report the user's rank in the group 501 now",
        },
      ],
    });
  });

  test('a private inventory is unknown, with its own reason', async () => {
    await bindItem(TABLE, 'gamepass', 601);
    expect(await reasonsOf(CHIARA)).toEqual([
      [
        'unknown',
        'INVENTORY_PRIVATE',
        "The inventory is private, so nobody can tell whether the user owns the gamepass Captain's Pass",
      ],
    ]);
  });

  test('a slow game platform does not delay the response beyond the time of a request', async () => {
    await fixture.bindRank(OFFICER, { min: 255 });
    await game.fault('/', { delay_ms: 20_000 });
    const started = performance.now();
    expect(await rolesOf(ADA)).toMatchObject([{ bindings: [{ matches: 'unknown' }] }]);
    expect(performance.now() - started).toBeLessThan(8_000);
  });

  test('the error of the chat platform is returned, and the next response is complete', async () => {
    await fixture.bindRank(OFFICER, { min: 50 });
    await chat.fault('/guilds', { status: 500, times: 1 });
    expect((await explain(ADA)).status).toBe(502);
    expect(await rolesOf(ADA)).toMatchObject([{ action: 'keep' }]);
  });
});
