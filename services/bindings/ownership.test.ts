import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { RunningService } from '#kit/service/service.ts';
import {
  BindingsServiceService,
  type EvaluateRequest,
  type EvaluateResponse,
  Verdict,
} from '#proto/gen/guild/bindings/v1/bindings.ts';
import { connect } from '#test/network/grpc.ts';
import { BindingsFixture, CAPTAIN, OFFICER, PLAYER_MEMBERS, rankBinding } from './fixture.ts';

const { VERDICT_WANTED: WANTED, VERDICT_UNKNOWN: UNKNOWN } = Verdict;
const INVENTORY = 'GET /cloud/v2/users/:user/inventory-items';

const fixture = new BindingsFixture();
let replica: RunningService;
let client: GrpcClient<typeof BindingsServiceService>;
let close: () => void;

beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
// Every test starts with empty caches and closed breakers.
beforeEach(async () => {
  fixture.nextGuild();
  replica = await fixture.startBindings();
  ({ client, close } = connect(BindingsServiceService, 'bindings', replica.addresses.grpc ?? '', fixture.clock));
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
/** The calls to the game platform since the bindings were added. */
const gameCalls = () => fixture.game.calls();

const gamepass = (chatRoleId: string, id = 601) => ({
  chat_role_id: chatRoleId,
  binding_type: 'gamepass',
  game_gamepass_id: id,
});

async function addAll(...bindings: object[]): Promise<void> {
  for (const binding of bindings) await fixture.added(binding);
  await fixture.calm();
}

test('ownership is queried only for members for whom it decides a role', async () => {
  // All members have the role because of their rank.
  await addAll(rankBinding(), gamepass(OFFICER));
  const byRank = rolesOf(await evaluate(PLAYER_MEMBERS, { rolesOnly: true }));
  expect(byRank.every((roles) => roles[OFFICER] === WANTED)).toBe(true);
  expect((await gameCalls())[INVENTORY]).toBeUndefined();
  const strangers = PLAYER_MEMBERS.map(({ chatId }, index) => ({ chatId, gameId: 9_000_000 + index }));
  await evaluate(strangers.slice(0, 3), { rolesOnly: true });
  expect((await gameCalls())[INVENTORY]).toBe(3);
});

test('for a role that the bot cannot change ownership is not queried, and no member is incomplete', async () => {
  await addAll(gamepass(OFFICER), gamepass(CAPTAIN, 602));
  const request = { rolesOnly: true, withoutOwnershipRoleIds: [OFFICER, CAPTAIN] };
  const response = await evaluate(PLAYER_MEMBERS.slice(0, 5), request);
  expect(rolesOf(response)[0]).toEqual({ [OFFICER]: UNKNOWN, [CAPTAIN]: UNKNOWN });
  expect(response.members.some(({ incomplete }) => incomplete)).toBe(false);
  expect(await gameCalls()).toEqual({});
});

test('without a key for Open Cloud each member takes a call', async () => {
  await addAll(rankBinding());
  const keyless = await fixture.startBindings({ GAME_API_KEY: '' });
  const connection = connect(BindingsServiceService, 'bindings', keyless.addresses.grpc ?? '', fixture.clock);
  const request = {
    guildId: fixture.guild,
    members: PLAYER_MEMBERS,
    chatRoleIds: [],
    rolesOnly: true,
    withoutOwnershipRoleIds: [],
    withNames: false,
    withNickname: false,
  };
  const response = await connection.client.evaluate(request);
  expect(new Set(rolesOf(response).map((roles) => roles[OFFICER]))).toEqual(new Set([WANTED]));
  expect(await gameCalls()).toEqual({ 'GET /v2/users/:user/groups/roles': 100 });
  connection.close();
  await keyless.stop();
});
