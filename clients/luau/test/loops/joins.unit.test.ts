import { expect, test } from 'vitest';
import { newPlace } from './place.ts';

const STATUS = /\/game\/status$/;

test('players who join in the same second are checked with one request, and banned ones are kicked', async () => {
  const place = newPlace();
  const expires = Math.floor(Date.parse('2026-03-01T12:30:00Z') / 1000);
  place.api.ban(7001, { reason: 'Used speed hacks', expires_at: expires });
  place.api.ban(7003, { reason: 'Alt of a banned player' });
  const server = await place.server({ game: { PlaceId: 4001 } });
  await place.seconds(5);
  for (const id of [7001, 7002, 7003]) server.addPlayer(id);
  await place.seconds(3);

  expect(place.api.callsOf(STATUS).map(({ body }) => body)).toEqual([{ game_ids: [7001, 7002, 7003], place_id: 4001 }]);
  expect(server.kicks).toEqual([
    { userId: 7001, reason: 'You are banned from this game.\nReason: Used speed hacks\nUntil: 2026-03-01 12:30 UTC' },
    {
      userId: 7003,
      reason: 'You are banned from this game.\nReason: Alt of a banned player\nThis ban does not expire.',
    },
  ]);
  expect([...server.players]).toEqual([7002]);
});

test('players who are there already when the loops start are checked too, 25 at a time', async () => {
  const place = newPlace();
  place.api.ban(30);
  const server = await place.server({ settings: 'loops = { bans = false }', before: 'task.wait(20)' });
  for (let id = 1; id <= 30; id++) server.addPlayer(id);
  await place.seconds(25);
  const checked = place.api.callsOf(STATUS).map(({ body }) => body.game_ids.length);
  expect(checked.reduce((sum, count) => sum + count, 0)).toBe(30);
  expect(Math.max(...checked)).toBeLessThanOrEqual(25);
  expect(server.kicks.map(({ userId }) => userId)).toEqual([30]);
});

test.each(['task.wait(1e6)', 'local own = coroutine.running() task.delay(1, task.cancel, own) coroutine.yield()'])(
  'while a callback of the game waits, or after it was cancelled, players are still checked: %s',
  async (wait) => {
    const place = newPlace();
    place.api.ban(7001);
    place.api.ban(7003);
    const before = `
      _G.seen = {}
      local function note(player)
        table.insert(_G.seen, player.UserId)
        ${wait}
      end
      guild:onBanned(note)
      guild:onChecked(note)`;
    const server = await place.server({ before });
    for (const id of [7001, 7002, 7003, 7004]) {
      server.addPlayer(id);
      await place.seconds(10);
    }
    expect(await place.run(server, 'return _G.seen')).toEqual([7001, 7002, 7003, 7004]);
    // The mirror finds bans that no command reported.
    place.api.ban(7002);
    place.api.ban(7004);
    await place.seconds(300);
    expect(await place.run(server, 'return { table.unpack(_G.seen, 5) }')).toEqual(
      expect.arrayContaining([7002, 7004]),
    );
  },
);

test('the plugin can handle banned players and read the status of others; if it fails, they are kicked', async () => {
  const place = newPlace();
  place.api.ban(7001);
  const before = `
    _G.seen = {}
    guild:onBanned(function(player, ban)
      table.insert(_G.seen, { player.UserId, ban.reason })
      error("the handler failed")
    end)
    guild:onChecked(function(player, status)
      table.insert(_G.seen, { player.UserId, status.muted })
      error("the handler failed")
    end)`;
  const server = await place.server({ before });
  server.addPlayer(7001);
  server.addPlayer(7002);
  await place.seconds(5);
  expect(await place.run(server, 'return _G.seen')).toEqual([
    [7001, 'spam'],
    [7002, false],
  ]);
  expect(server.kicks.map(({ userId }) => userId)).toEqual([7001]);
});

test('while the API fails nobody is let in for good: players are checked as soon as it is back', async () => {
  const place = newPlace();
  const server = await place.server();
  await place.seconds(5);
  place.api.ban(7001);
  server.network.down = true;
  server.addPlayer(7001);
  server.addPlayer(7002);
  server.addPlayer(7003);
  await place.seconds(60);
  expect(server.kicks).toEqual([]);
  server.removePlayer(7003);
  server.network.down = false;
  await place.seconds(65);
  expect(server.kicks.map(({ userId }) => userId)).toEqual([7001]);
  expect(place.api.callsOf(STATUS).at(-1)?.body.game_ids).not.toContain(7003);
});

test('a ban reaches players on the server by a command, also with a handler of the plugin', async () => {
  const place = newPlace();
  const server = await place.server({ game: { PlaceId: 4001 } });
  for (const id of [7001, 7002, 7003]) server.addPlayer(id);
  await place.seconds(10);
  const target = (game_id: number) => ({ game_id, game_username: null });
  const here = place.api.send('ban', { target: target(7001), payload: { id: 1, reason: 'spam', place_id: 4001 } });
  const elsewhere = place.api.send('ban', { target: target(7002), payload: { id: 2, reason: 'x', place_id: 5 } });
  await place.seconds(35);
  expect(server.kicks.map(({ userId }) => userId)).toEqual([7001]);
  expect(here.acked?.result).toEqual({ kicked: true });
  expect(elsewhere.acked?.result).toEqual({ kicked: false });

  // The mirror knows the ban from the command.
  server.network.down = true;
  server.addPlayer(7001);
  await place.seconds(10);
  expect(server.kicks).toHaveLength(2);
});
