import { expect, test } from 'vitest';
import { newPlace } from './place.ts';

const START = '/staff/game/session/start';
const HEARTBEAT = '/staff/game/heartbeat';

const STAFF = 'loops = { staff = { isStaff = function(player) return player.UserId >= 9000 end } }';

test('a session starts when a staff member joins, is kept open, and ends when the player leaves', async () => {
  const place = newPlace();
  const server = await place.server({ settings: STAFF, game: { PlaceId: 4001, JobId: 'job-1' } });
  server.addPlayer(1);
  server.addPlayer(9001, 'Officer');
  await place.seconds(10);
  expect(place.api.callsOf(START).map(({ body }) => body)).toEqual([
    { guild_id: expect.any(String), game_id: 9001, game_username: 'Officer', server_id: 'job-1', place_id: 4001 },
  ]);
  await place.seconds(190);
  expect(place.api.callsOf(HEARTBEAT)).toHaveLength(3);
  await place.run(server, 'guild.loops.sessions:addIdle(9001, 12.5)');
  await place.seconds(60);
  const [session] = place.api.sessions.values();
  expect(session).toMatchObject({ game_id: 9001, idle: 12 });
  server.removePlayer(9001);
  await place.seconds(5);
  expect(session?.ended).toBe('left');
  const beats = place.api.callsOf(HEARTBEAT).length;
  await place.seconds(200);
  expect(place.api.callsOf(HEARTBEAT)).toHaveLength(beats);
});

test('a session that the API has ended is started again, and one that cannot start is tried again', async () => {
  const place = newPlace();
  const server = await place.server({ settings: STAFF });
  server.network.down = true;
  server.addPlayer(9001);
  await place.seconds(100);
  server.network.down = false;
  await place.seconds(70);
  const [id, session] = [...place.api.sessions][0] ?? [];
  if (session) session.ended = 'missed beats';
  await place.seconds(120);
  expect([...place.api.sessions.keys()].filter((other) => other !== id)).toHaveLength(1);
  const keys = new Set(place.api.callsOf(START).map(({ headers }) => headers['idempotency-key']));
  expect(keys.size).toBe(2);
});

test('a player who leaves during the start of the session does not keep it open', async () => {
  const place = newPlace();
  const server = await place.server();
  server.network.latency = 2000;
  server.addPlayer(9001);
  await place.seconds(20);
  await place.run(server, 'guild:staffJoined(game.Players:GetPlayerByUserId(9001))');
  await place.seconds(1);
  server.removePlayer(9001);
  await place.seconds(20);
  expect([...place.api.sessions.values()]).toEqual([{ game_id: 9001, ended: 'left' }]);
});

test('sessions end when the server closes', async () => {
  const place = newPlace();
  const server = await place.server({ settings: STAFF });
  for (let id = 9001; id <= 9030; id++) server.addPlayer(id);
  await place.seconds(130);
  const sizes = place.api.callsOf(HEARTBEAT).map(({ body }) => body.sessions.length);
  expect(sizes.slice(-2).toSorted((a, b) => a - b)).toEqual([5, 25]);
  const begun = place.clock.now();
  await place.clock.until(server.close());
  expect(place.clock.now() - begun).toBeLessThan(30_000);
  expect([...place.api.sessions.values()].filter(({ ended }) => ended === undefined)).toEqual([]);
});

test('permissions are remembered for five minutes, asked for once, and used while the API is unavailable', async () => {
  const place = newPlace();
  const data = { game_id: 9001, is_staff: true, level: 5, permissions: ['kick', 'ban'], cache_seconds: 300 };
  const server = await place.server();
  server.network.fault = ({ url }) => {
    const response = { status: 200, body: JSON.stringify({ status: 'success', code: 200, message: '', data }) };
    return url.includes('/permissions') ? { kind: 'respond', response } : undefined;
  };
  server.addPlayer(9001);
  await place.seconds(2);
  const count = () => server.requests.filter(({ url }) => url.includes('/permissions')).length;
  const ask = `
    local player = game.Players:GetPlayerByUserId(9001)
    local answers, waiting = {}, 3
    for _, permission in { "kick", "ban", "fly" } do
      task.spawn(function() answers[permission] = guild:hasPermission(player, permission); waiting -= 1 end)
    end
    while waiting > 0 do task.wait() end
    return answers`;
  expect(await place.run(server, ask)).toEqual({ kick: true, ban: true, fly: false });
  expect(count()).toBe(1);
  await place.seconds(290);
  await place.run(server, ask);
  expect(count()).toBe(1);
  server.network.down = true;
  await place.seconds(60);
  expect(await place.run(server, ask)).toEqual({ kick: true, ban: true, fly: false });
  await place.seconds(3700);
  expect(await place.run(server, ask)).toEqual({ kick: false, ban: false, fly: false });
});

test('idle seconds that are no number, or infinite, keep no session from its heartbeat', async () => {
  const place = newPlace();
  const server = await place.server({ settings: STAFF });
  server.addPlayer(9001);
  await place.seconds(10);
  await place.run(
    server,
    `guild:staffIdle(nil, 1)
    local player = game.Players:GetPlayerByUserId(9001)
    for _, seconds in { 0 / 0, -5, "5", math.huge } do guild:staffIdle(player, seconds) end`,
  );
  await place.seconds(70);
  expect([...place.api.sessions.values()]).toMatchObject([{ game_id: 9001, idle: 604_800 }]);
});
