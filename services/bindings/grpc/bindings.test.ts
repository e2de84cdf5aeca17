import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { RunningService } from '#kit/service/service.ts';
import {
  BindingsServiceService,
  type EvaluateRequest,
  type EvaluateResponse,
  Verdict,
} from '#proto/gen/guild/bindings/v1/bindings.ts';
import { connect } from '#test/network/grpc.ts';
import { BindingsFixture, CAPTAIN, DECKHAND, OFFICER, PLAYER_MEMBERS, rankBinding } from '../fixture.ts';

/** A binding of a guild that uses only what the specification has. */
const PLAIN = { conditions: [], authority: 0 };

const { VERDICT_WANTED: WANTED, VERDICT_NOT_WANTED: NOT_WANTED, VERDICT_UNKNOWN: UNKNOWN } = Verdict;
const MEMBERSHIPS = 'GET /cloud/v2/groups/:group/memberships';
const INVENTORY = 'GET /cloud/v2/users/:user/inventory-items';
const USER = 'GET /v1/users/:user';
const ROLES = 'GET /v1/groups/:group/roles';

const ADA = { chatId: '920000000000000001', gameId: 7001 };
/** Has a private inventory. */
const CHIARA = { chatId: '920000000000000003', gameId: 7003 };
const DMITRI = { chatId: '920000000000000004', gameId: 7004 };

const fixture = new BindingsFixture();
let replica: RunningService;
let client: GrpcClient<typeof BindingsServiceService>;
let close: () => void;

const connectTo = ({ addresses }: RunningService) =>
  connect(BindingsServiceService, 'bindings', addresses.grpc ?? '', fixture.clock);

beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
// Every test starts with empty caches and closed breakers.
beforeEach(async () => {
  fixture.nextGuild();
  replica = await fixture.startBindings();
  ({ client, close } = connectTo(replica));
});
afterEach(async () => {
  close();
  await replica.stop();
  await fixture.calm();
});

const evaluate = (members: EvaluateRequest['members'], request: Partial<EvaluateRequest> = {}) =>
  client.evaluate({
    guildId: fixture.guild,
    members,
    chatRoleIds: [],
    rolesOnly: false,
    withoutOwnershipRoleIds: [],
    withNames: false,
    withNickname: false,
    ...request,
  });
/** The verdict on each role for each member. */
const rolesOf = ({ members }: EvaluateResponse) =>
  members.map(({ roles }) => Object.fromEntries(roles.map(({ chatRoleId, verdict }) => [chatRoleId, verdict])));
const gameCalls = () => fixture.game.calls();

const gamepass = (chatRoleId: string, id = 601) => ({
  chat_role_id: chatRoleId,
  binding_type: 'gamepass',
  game_gamepass_id: id,
});
const age = (platform: string, days: number, chatRoleId = OFFICER) => ({
  chat_role_id: chatRoleId,
  binding_type: 'account_age',
  account_age_platform: platform,
  account_age_min_days: days,
});

async function addAll(...bindings: object[]): Promise<number[]> {
  const ids: number[] = [];
  for (const binding of bindings) ids.push((await fixture.added(binding)).id);
  await fixture.calm();
  return ids;
}

describe('ListBindings', () => {
  test('lists every binding in order, with its target', async () => {
    const [rank, pass, asset, badge, old] = await addAll(
      rankBinding(),
      { ...gamepass(CAPTAIN), priority: 1 },
      { chat_role_id: CAPTAIN, binding_type: 'asset', game_asset_id: 701 },
      { chat_role_id: CAPTAIN, binding_type: 'badge', game_badge_id: 801 },
      { ...age('chat', 30), priority: 0 },
    );
    const { bindings } = await client.listBindings({ guildId: fixture.guild });
    expect(bindings).toEqual([
      {
        ...PLAIN,
        id: old,
        chatRoleId: OFFICER,
        priority: 0,
        target: { $case: 'accountAge', value: { platform: 'chat', minDays: 30 } },
      },
      { ...PLAIN, id: pass, chatRoleId: CAPTAIN, priority: 1, target: { $case: 'gamepassId', value: 601 } },
      {
        ...PLAIN,
        id: rank,
        chatRoleId: OFFICER,
        target: { $case: 'groupRank', value: { gameGroupId: 501, minRank: 50, maxRank: 255 } },
      },
      { ...PLAIN, id: asset, chatRoleId: CAPTAIN, target: { $case: 'assetId', value: 701 } },
      { ...PLAIN, id: badge, chatRoleId: CAPTAIN, target: { $case: 'badgeId', value: 801 } },
    ]);
    expect(await gameCalls()).toEqual({});
  });

  test('is empty for a guild without bindings', async () => {
    expect(await client.listBindings({ guildId: fixture.guild })).toEqual({ bindings: [] });
  });
});

describe('Evaluate', () => {
  test('returns the verdict for each member and role, and the reason for each binding', async () => {
    const [rank, pass] = await addAll(rankBinding({ min_rank: 100 }), gamepass(OFFICER));
    const { members } = await evaluate([DMITRI, ADA]);
    const notInGroup = 'the user is not in group 501, and the minimum rank is 100';
    const rankTooLow = 'rank 50 is below the minimum of 100';
    expect(members).toEqual([
      {
        chatId: DMITRI.chatId,
        incomplete: false,
        rejected: false,
        roles: [
          {
            chatRoleId: OFFICER,
            authority: 0,
            lasting: false,
            verdict: NOT_WANTED,
            bindings: [
              { bindingId: rank, verdict: NOT_WANTED, code: 'NOT_IN_GROUP', reason: notInGroup },
              { bindingId: pass, verdict: NOT_WANTED, code: 'NOT_OWNED', reason: 'the user does not own gamepass 601' },
            ],
          },
        ],
      },
      {
        chatId: ADA.chatId,
        incomplete: false,
        rejected: false,
        roles: [
          {
            chatRoleId: OFFICER,
            authority: 0,
            lasting: false,
            verdict: WANTED,
            bindings: [
              { bindingId: rank, verdict: NOT_WANTED, code: 'RANK_TOO_LOW', reason: rankTooLow },
              { bindingId: pass, verdict: WANTED, code: 'OWNED', reason: 'the user owns gamepass 601' },
            ],
          },
        ],
      },
    ]);
  });

  test('a role with an unknown binding is wanted if another binding wants it, otherwise unknown', async () => {
    await addAll(
      gamepass(OFFICER),
      rankBinding({ min_rank: 1 }),
      gamepass(CAPTAIN),
      rankBinding({ chat_role_id: CAPTAIN, min_rank: 100 }),
    );
    expect(rolesOf(await evaluate([CHIARA]))).toEqual([{ [OFFICER]: WANTED, [CAPTAIN]: UNKNOWN }]);
  });

  test('evaluates ages from the chat ID and from the creation time on the game platform', async () => {
    const [chatDays, gameDays] = ['2021-12-13T17:11:32.773Z', '2019-03-01T00:00:00Z'].map((made) =>
      Math.floor((fixture.clock.now() - Date.parse(made)) / 86_400_000),
    ) as [number, number];
    await addAll(age('chat', chatDays), age('chat', chatDays + 2, CAPTAIN), age('game', gameDays, DECKHAND));
    expect(rolesOf(await evaluate([ADA]))).toEqual([{ [OFFICER]: WANTED, [CAPTAIN]: NOT_WANTED, [DECKHAND]: WANTED }]);
    expect(await gameCalls()).toEqual({ [USER]: 1 });
  });

  test('evaluates only the given roles, and queries only what they need', async () => {
    await addAll(rankBinding(), gamepass(CAPTAIN), age('game', 1, DECKHAND));
    const response = await evaluate([ADA], { chatRoleIds: [CAPTAIN, '910000000000000777'] });
    expect(rolesOf(response)).toEqual([{ [CAPTAIN]: WANTED }]);
    expect(await gameCalls()).toEqual({ [INVENTORY]: 1 });
  });

  test('leaves out the single bindings with roles_only', async () => {
    await addAll(rankBinding());
    const { members } = await evaluate([ADA], { rolesOnly: true });
    const roles = [{ chatRoleId: OFFICER, verdict: WANTED, bindings: [], authority: 0, lasting: false }];
    expect(members).toEqual([{ chatId: ADA.chatId, incomplete: false, rejected: false, roles }]);
  });

  test('queries nothing without bindings or members', async () => {
    expect(await evaluate([ADA])).toEqual({
      members: [{ chatId: ADA.chatId, incomplete: false, rejected: false, roles: [] }],
    });
    await addAll(rankBinding());
    expect(await evaluate([])).toEqual({ members: [] });
    expect(await gameCalls()).toEqual({});
  });

  test('100 members take two calls for ranks and one for each inventory, and none for cached facts', async () => {
    await addAll(
      rankBinding(),
      rankBinding({ chat_role_id: CAPTAIN, min_rank: 100 }),
      gamepass(DECKHAND),
      gamepass(DECKHAND, 602),
      age('chat', 1),
    );
    const response = await evaluate(PLAYER_MEMBERS);
    expect(response.members.map(({ chatId }) => chatId)).toEqual(PLAYER_MEMBERS.map(({ chatId }) => chatId));
    for (const roles of rolesOf(response)) {
      expect(roles).toEqual({ [OFFICER]: WANTED, [CAPTAIN]: NOT_WANTED, [DECKHAND]: WANTED });
    }
    expect(await gameCalls()).toEqual({ [MEMBERSHIPS]: 2, [ROLES]: 1, [INVENTORY]: 100 });
    await fixture.calm();
    await evaluate(PLAYER_MEMBERS, { chatRoleIds: [OFFICER, CAPTAIN] });
    expect(await gameCalls()).toEqual({});
  });

  test('two concurrent evaluations share the calls for ranks', async () => {
    await addAll(rankBinding());
    await Promise.all([evaluate(PLAYER_MEMBERS), evaluate(PLAYER_MEMBERS)]);
    expect((await gameCalls())[MEMBERSHIPS]).toBe(2);
  });

  test('the verdicts on 100 members and 500 bindings with all reasons fit into one message', async () => {
    await fixture.query(
      `INSERT INTO bindings.bindings (guild_id, chat_role_id, type, game_group_id, min_rank, max_rank, created_at, updated_at)
       SELECT $1, (910000000000000000 + n)::text, 'group_rank', 9007199254740000 + n, 200, 255, now(), now()
       FROM generate_series(1, 500) n`,
      [fixture.guild],
    );
    const started = performance.now();
    const { members } = await evaluate(PLAYER_MEMBERS);
    console.log(`50,000 verdicts with reasons took ${(performance.now() - started).toFixed(0)} ms`);
    expect(members).toHaveLength(100);
    for (const { roles } of members) expect(roles).toHaveLength(500);
  });
});

describe('facts that the game platform does not return are unknown', () => {
  test.each([
    ['responds with 500', { status: 500 }],
    ['responds with 429', { status: 429, retry_after: 30 }],
    ['sends invalid JSON', { broken: true }],
    ['truncates the response', { truncate: true }],
    ['resets the connection', { reset: true }],
  ])('when it %s', async (_what, fault) => {
    await addAll(rankBinding(), gamepass(CAPTAIN), age('game', 1, DECKHAND), age('chat', 1));
    await fixture.game.fault('', fault);
    const response = await evaluate([ADA, DMITRI]);
    expect(rolesOf(response)).toEqual(
      [ADA, DMITRI].map(() => ({ [OFFICER]: WANTED, [CAPTAIN]: UNKNOWN, [DECKHAND]: UNKNOWN })),
    );
    expect(response.members.map(({ incomplete }) => incomplete)).toEqual([true, true]);
  });

  test('and a member is incomplete only if another evaluation may help', async () => {
    await addAll(gamepass(CAPTAIN));
    const incomplete = async () => (await evaluate([CHIARA, ADA])).members.map((member) => member.incomplete);
    expect(await incomplete()).toEqual([false, false]);
    await fixture.game.fault('/users/7001/', { status: 500, times: 1 });
    expect(await incomplete()).toEqual([false, true]);
    // An unknown fact that does not change the outcome needs no other evaluation.
    await addAll({ ...age('chat', 1), chat_role_id: CAPTAIN });
    await fixture.game.fault('/users/7001/', { status: 500, times: 1 });
    expect(await incomplete()).toEqual([false, false]);
  });

  test('for one page of members only, if only that page fails', async () => {
    await addAll(rankBinding());
    await fixture.game.fault('/memberships', { status: 500, times: 1 });
    const verdicts = rolesOf(await evaluate(PLAYER_MEMBERS)).map((roles) => roles[OFFICER]);
    expect(verdicts.filter((verdict) => verdict === UNKNOWN)).toHaveLength(50);
    expect(verdicts.filter((verdict) => verdict === WANTED)).toHaveLength(50);
  });
});

test('every field of a message is checked, and all faults are listed', async () => {
  const faultsOf = async (call: Promise<unknown>) => {
    const error = (await call.catch((thrown: unknown) => thrown)) as ApiError;
    expect(error.code).toBe('INVALID_REQUEST');
    return (error.details as { errors: { path: string }[] }).errors.map(({ path }) => path);
  };
  expect(await faultsOf(client.listBindings({ guildId: 'x' }))).toEqual(['request.guildId']);
  expect(await faultsOf(evaluate([{ chatId: '1', gameId: -1 }], { guildId: '', chatRoleIds: ['x'] }))).toEqual([
    'request.guildId',
    'request.members[0].chatId',
    'request.members[0].gameId',
    'request.chatRoleIds[0]',
  ]);
  expect(await faultsOf(evaluate([...PLAYER_MEMBERS, ADA]))).toEqual(['request.members']);
  expect(await faultsOf(evaluate([ADA, ADA]))).toEqual(['request.members']);
});
