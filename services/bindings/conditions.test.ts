import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { Authority, BindingsServiceService, Verdict } from '#proto/gen/guild/bindings/v1/bindings.ts';
import { connect } from '#test/network/grpc.ts';
import { BindingsFixture, CAPTAIN, DECKHAND, faultsOf, OFFICER, PLAYER_MEMBERS, rankBinding } from './fixture.ts';

const { VERDICT_WANTED: WANTED, VERDICT_NOT_WANTED: NOT_WANTED } = Verdict;
const [PLAYER] = PLAYER_MEMBERS as [(typeof PLAYER_MEMBERS)[number]];
const WITHOUT_LINK = { chatId: '920000000000000077', gameId: 0 };

const fixture = new BindingsFixture();
let client: GrpcClient<typeof BindingsServiceService>;
let close: () => void;

beforeAll(async () => {
  await fixture.start();
  const address = fixture.bindings.addresses.grpc ?? '';
  ({ client, close } = connect(BindingsServiceService, 'bindings', address, fixture.clock));
});
afterAll(async () => {
  close();
  await fixture.stop();
});
beforeEach(() => {
  fixture.nextGuild();
});

const gamepass = { binding_type: 'gamepass', game_gamepass_id: 601 };
const rank = { binding_type: 'group_rank', game_group_id: 501, min_rank: 1, max_rank: 255 };

async function evaluate(member: { chatId: string; gameId: number }, withNames = false) {
  const { members } = await client.evaluate({
    guildId: fixture.guild,
    members: [member],
    chatRoleIds: [],
    rolesOnly: false,
    withoutOwnershipRoleIds: [],
    withNames,
    withNickname: false,
  });
  return members[0];
}

const verdictsOf = (evaluated: Awaited<ReturnType<typeof evaluate>>) =>
  Object.fromEntries((evaluated?.roles ?? []).map(({ chatRoleId, verdict }) => [chatRoleId, verdict]));

describe('a binding with conditions', () => {
  test('is stored and listed with them, in the form of a binding', async () => {
    const added = await fixture.added({
      ...rankBinding(),
      conditions: [gamepass, { binding_type: 'verified' }],
      authority: 'grant',
      nickname_template: '{rank_name} {game_username}',
    });
    const nothing = { game_group_id: null, min_rank: null, max_rank: null, asset_id: null, badge_id: null };
    const noAge = { account_age_platform: null, account_age_min_days: null };
    expect(added).toMatchObject({
      authority: 'grant',
      nickname_template: '{rank_name} {game_username}',
      conditions: [
        { binding_type: 'gamepass', gamepass_id: 601, ...nothing, ...noAge },
        { binding_type: 'verified', gamepass_id: null, ...nothing, ...noAge },
      ],
    });
    expect((await fixture.list()).body.data.bindings).toEqual([added]);
  });

  test('matches only if all of them match, and the reason is the one that does not', async () => {
    await fixture.added({ ...rankBinding(), conditions: [gamepass] });
    await fixture.added({ ...rankBinding({ chat_role_id: CAPTAIN }), conditions: [{ ...rank, min_rank: 60 }] });
    const evaluated = await evaluate(PLAYER, true);
    expect(verdictsOf(evaluated)).toEqual({ [OFFICER]: WANTED, [CAPTAIN]: NOT_WANTED });
    const [both, one] = (evaluated?.roles ?? []).map(({ bindings }) => bindings[0]);
    expect(both?.reason).toMatch(/Rank 50 .* is within 50 to 255\. The user owns the gamepass /);
    expect(one).toMatchObject({ code: 'RANK_TOO_LOW', reason: expect.stringContaining('below the minimum of 60') });
  });

  test('is not identical to one with other conditions', async () => {
    await fixture.added({ ...rankBinding(), conditions: [gamepass] });
    await fixture.added(rankBinding());
    expect((await fixture.add({ ...rankBinding(), conditions: [gamepass] })).status).toBe(409);
  });

  test('is rejected if one is not possible', async () => {
    const sixth = Array.from({ length: 6 }, () => gamepass);
    expect(faultsOf(await fixture.add({ ...rankBinding(), conditions: sixth }))).toEqual(['body.conditions']);
    const faulty = [{ binding_type: 'badge' }, { ...rank, max_rank: 0 }];
    expect(faultsOf(await fixture.add({ ...rankBinding(), conditions: faulty }))).toEqual([
      'body.conditions[0].game_badge_id',
      'body.conditions[1].max_rank',
    ]);
    expect(faultsOf(await fixture.add({ ...rankBinding(), conditions: [null, 'badge'] }))).toEqual([
      'body.conditions[0]',
      'body.conditions[1]',
    ]);
    const unknown = await fixture.add({
      ...rankBinding(),
      conditions: [gamepass, { ...gamepass, game_gamepass_id: 9 }],
    });
    expect([unknown.status, faultsOf(unknown)]).toEqual([400, ['body.conditions[1].game_gamepass_id']]);
    expect(await fixture.stored()).toBe(0);
  });

  test('is tested with all of them', async () => {
    await fixture.link(PLAYER);
    const { id } = await fixture.added({ ...rankBinding(), conditions: [{ ...rank, min_rank: 60 }] });
    expect((await fixture.test(PLAYER.chatId, id)).body.data).toMatchObject({ matches: false, user_rank: 50 });
  });
});

test('an update replaces the conditions, the authority and the template; null removes the template', async () => {
  const { id } = await fixture.added(rankBinding());
  const change = { conditions: [gamepass], authority: 'own', nickname_template: '{game_username}' };
  const changed = await fixture.update({ binding_id: id, ...change });
  expect(changed.body.data).toMatchObject({ authority: 'own', nickname_template: '{game_username}' });
  expect(changed.body.data.conditions).toHaveLength(1);
  const removed = await fixture.update({ binding_id: id, conditions: [], nickname_template: null });
  expect(Object.keys(removed.body.data)).not.toContain('conditions');
  expect(Object.keys(removed.body.data)).not.toContain('nickname_template');
  const unknown = await fixture.update({ binding_id: id, conditions: [{ ...gamepass, game_gamepass_id: 9 }] });
  expect(unknown.status).toBe(400);
});

describe('verified and unverified bindings', () => {
  beforeEach(async () => {
    await fixture.added({ chat_role_id: OFFICER, binding_type: 'verified', authority: 'managed' });
    await fixture.added({ chat_role_id: CAPTAIN, binding_type: 'unverified', authority: 'own' });
    await fixture.added(rankBinding({ chat_role_id: DECKHAND, min_rank: 0 }));
  });

  test('depend only on the link, and members without one match nothing else', async () => {
    await fixture.calm();
    expect(verdictsOf(await evaluate(WITHOUT_LINK))).toEqual({
      [OFFICER]: NOT_WANTED,
      [CAPTAIN]: WANTED,
      [DECKHAND]: NOT_WANTED,
    });
    expect(await fixture.game.calls()).toEqual({});
    expect(verdictsOf(await evaluate(PLAYER))).toEqual({
      [OFFICER]: WANTED,
      [CAPTAIN]: NOT_WANTED,
      [DECKHAND]: WANTED,
    });
  });

  test('are listed for members with their authorities', async () => {
    const { bindings } = await client.listBindings({ guildId: fixture.guild });
    expect(bindings.map(({ target, authority }) => [target, authority])).toMatchObject([
      [{ $case: 'linked', value: true }, Authority.AUTHORITY_MANAGED],
      [{ $case: 'linked', value: false }, Authority.AUTHORITY_OWN],
      [{ $case: 'groupRank' }, Authority.AUTHORITY_UNSPECIFIED],
    ]);
  });
});

test('the strongest authority of a role counts, and a role that only grant gives is lasting', async () => {
  await fixture.added({ ...rankBinding(), authority: 'grant' });
  expect((await evaluate(PLAYER))?.roles).toMatchObject([{ authority: Authority.AUTHORITY_GRANT, lasting: true }]);
  await fixture.added({ ...rankBinding({ min_rank: 60 }), authority: 'managed' });
  expect((await evaluate(PLAYER))?.roles).toMatchObject([{ authority: Authority.AUTHORITY_MANAGED, lasting: true }]);
  await fixture.added({ ...rankBinding({ min_rank: 40 }), authority: 'own' });
  expect((await evaluate(PLAYER))?.roles).toMatchObject([{ authority: Authority.AUTHORITY_OWN, lasting: false }]);
});

test('the template of the first binding that matches is the nickname, with the group of its rank', async () => {
  await fixture.added({ ...rankBinding({ min_rank: 60 }), nickname_template: 'no', priority: 1 });
  await fixture.added({ ...rankBinding({ min_rank: 50 }), nickname_template: '{rank_name}', priority: 2 });
  await fixture.added({ chat_role_id: CAPTAIN, binding_type: 'verified', nickname_template: 'later' });
  expect(await evaluate(PLAYER)).toMatchObject({ nicknameTemplate: '{rank_name}', nicknameGroupId: 501 });
});
