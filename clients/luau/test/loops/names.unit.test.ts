import { expect, test } from 'vitest';
import { newPlace } from './place.ts';

/** Names that a game can give to players, and those that the API accepts. */
const NAMES = [
  { name: '', accepted: undefined },
  { name: 'a\tb\nc', accepted: 'a b c' },
  { name: 'a\u0092b', accepted: 'a b' },
  { name: `x${'é'.repeat(60)}`, accepted: `x${'é'.repeat(49)}` },
  { name: 'n'.repeat(60), accepted: 'n'.repeat(50) },
];

test('the server stays live, and staff sessions start, whatever the players are called', async () => {
  const place = newPlace();
  const settings = 'loops = { staff = { isStaff = function() return true end } }';
  const server = await place.server({ settings });
  for (const [index, { name }] of NAMES.entries()) server.addPlayer(9001 + index, name);
  await place.seconds(60);
  const expected = NAMES.map(({ accepted }, index) => ({ game_id: 9001 + index, username: accepted }));
  expect(place.api.callsOf('/game/servers/heartbeat').at(-1)?.body.players).toEqual(expected);
  expect(await place.run(server, 'return guild.loops.fleet.isLive')).toBe(true);
  expect([...place.api.sessions.values()].map(({ game_id }) => game_id).toSorted((a, b) => a - b)).toEqual([
    9001, 9002, 9003, 9004, 9005,
  ]);
  expect(server.output.filter(({ level }) => level === 'warn')).toEqual([]);
});

test('a player with any name can redeem a code', async () => {
  const place = newPlace();
  const server = await place.server();
  for (const [index, { name, accepted }] of NAMES.entries()) {
    const id = 9001 + index;
    server.addPlayer(id, name);
    await place.seconds(1);
    const redeem = `return guild:redeem(game.Players:GetPlayerByUserId(${id}), "H7KM4PRX")`;
    expect(await place.run(server, redeem)).toMatchObject({ ok: true });
    expect(place.api.linked.get(id)?.game_username).toBe(accepted ?? String(id));
  }
});
