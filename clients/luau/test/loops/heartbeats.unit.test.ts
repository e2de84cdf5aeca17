import { expect, test } from 'vitest';
import { newPlace } from './place.ts';

const HEARTBEAT = '/game/servers/heartbeat';
const POLL = /\/commands$/;

test('a server reports itself at the interval that the API returns, and its end when it closes', async () => {
  const place = newPlace();
  const server = await place.server({
    game: { PlaceId: 4001, JobId: 'job-1' },
    settings: 'pluginVersion = "2.4.0"',
    maxPlayers: 30,
  });
  server.addPlayer(7001, 'AdaBuilds');
  await place.seconds(66);
  const beats = place.api.callsOf(HEARTBEAT);
  expect(beats).toHaveLength(5);
  expect(beats[1]?.body).toMatchObject({
    server_id: 'job-1',
    place_id: 4001,
    universe_id: place.universe.id,
    player_count: 1,
    max_players: 30,
    players: [{ game_id: 7001, username: 'AdaBuilds' }],
    plugin_version: '2.4.0',
    acks: [],
  });
  place.api.interval = 40;
  await place.seconds(15);
  const before = place.api.callsOf(HEARTBEAT).length;
  await place.seconds(120);
  expect(place.api.callsOf(HEARTBEAT).length - before).toBe(3);

  await place.clock.until(server.close());
  expect(place.api.callsOf(HEARTBEAT).at(-1)?.body.final).toBe(true);
});

test('the last heartbeat of a server comes after the one that still waits for its response when the server closes', async () => {
  const place = newPlace();
  const server = await place.server();
  server.network.fault = ({ url }) => (url.endsWith(HEARTBEAT) ? { kind: 'silent' } : undefined);
  await place.seconds(6);
  server.network.fault = undefined;
  expect(place.api.callsOf(HEARTBEAT)).toEqual([]);
  await place.clock.until(server.close());
  await place.seconds(60);
  expect(place.api.callsOf(HEARTBEAT).map(({ body }) => body.final ?? false)).toEqual([false, true]);
});

test('nothing is polled before the API has accepted a heartbeat, and a rejected one is not repeated at once', async () => {
  const place = newPlace();
  place.api.fail = ({ path }) =>
    path === HEARTBEAT
      ? { status: 403, details: { code: 'MISSING_SCOPE', required_scope: 'server:write' } }
      : undefined;
  const server = await place.server();
  await place.seconds(125);
  expect(place.api.callsOf(HEARTBEAT).length).toBeLessThanOrEqual(3);
  expect(place.api.callsOf(POLL)).toEqual([]);
  expect(server.output.some(({ text }) => text.includes('server:write'))).toBe(true);
  place.api.fail = () => undefined;
  await place.seconds(80);
  expect(place.api.callsOf(POLL).length).toBeGreaterThan(0);
});

test.each([
  ['7', '7'],
  ['"2.4\\n" .. string.rep("x", 100)', `2.4 ${'x'.repeat(60)}`],
  ['{}', expect.stringMatching(/^table: /)],
])('the API accepts the heartbeats of a server with the plugin version %s', async (version, reported) => {
  const place = newPlace();
  const server = await place.server({ settings: `pluginVersion = ${version}` });
  await place.seconds(10);
  expect(place.api.callsOf(HEARTBEAT)[0]?.body.plugin_version).toEqual(reported);
  expect(await place.run(server, 'return guild.loops.fleet.isLive')).toBe(true);
});

test('heartbeats continue while a function that receives the log waits', async () => {
  const place = newPlace();
  const server = await place.server({ settings: 'onLog = function() _G.logged = true coroutine.yield() end' });
  await place.seconds(10);
  place.api.fail = ({ path }) => (path === HEARTBEAT ? { status: 503, retryAfter: 5 } : undefined);
  await place.seconds(40);
  expect(await place.run(server, 'return _G.logged')).toBe(true);
  place.api.fail = () => undefined;
  await place.seconds(20);
  const before = place.api.callsOf(HEARTBEAT).length;
  await place.seconds(60);
  expect(place.api.callsOf(HEARTBEAT).length - before).toBe(4);
});

test('heartbeats continue after an outage within the interval', async () => {
  const place = newPlace();
  const server = await place.server();
  await place.seconds(10);
  server.network.down = true;
  await place.seconds(300);
  const during = server.requests.filter(({ error, url }) => error !== undefined && url.endsWith('heartbeat')).length;
  expect(during).toBeLessThan(60);
  server.network.down = false;
  const before = place.api.callsOf(HEARTBEAT).length;
  await place.seconds(20);
  expect(place.api.callsOf(HEARTBEAT).length).toBeGreaterThan(before);
});

test('a rate limit that is exceeded for two minutes costs few requests, and loses nothing', async () => {
  const place = newPlace();
  const server = await place.server({ before: 'guild:onCommand("custom", function() end)' });
  await place.seconds(10);
  const command = place.api.send('custom');
  place.api.ban(7001);
  server.addPlayer(7001);
  await place.run(server, 'guild:logAction({ actor = 1, target = 2, action_type = "warn" })');
  const details = { code: 'RATE_LIMITED', category: 'api_key', limit: 10, window: 60, retryAfter: 20 };
  place.api.fail = () => ({ status: 429, retryAfter: 20, details });
  const before = place.api.calls.length;
  await place.seconds(120);
  expect(place.api.calls.length - before).toBeLessThan(60);
  place.api.fail = () => undefined;
  await place.seconds(90);
  expect(command.acked?.status).toBe('success');
  expect(server.kicks).toHaveLength(1);
  expect(place.api.actions.size).toBe(1);
});

test('Studio gets a server ID, short polls, and no wait when a test ends', async () => {
  const place = newPlace();
  const server = await place.server({ studio: true, studioApiAccess: true });
  await place.seconds(30);
  expect(place.api.callsOf(HEARTBEAT)[0]?.body.server_id).toMatch(/^studio-[0-9A-Za-z-]{36}$/);
  expect(Number(place.api.callsOf(POLL)[0]?.query.get('wait'))).toBeLessThanOrEqual(5);
  expect(server.output.some(({ text }) => text.includes('Studio'))).toBe(true);
  const begun = place.clock.now();
  await place.clock.until(server.close());
  expect(place.clock.now() - begun).toBeLessThan(1000);
});

test('what all servers send together stays within the limits, however many there are', async () => {
  for (const servers of [60, 150, 400]) {
    const place = newPlace();
    place.api.interval = servers / 4;
    // All others have used up half of each limit.
    place.api.left = 0.4;
    const before = 'guild:onCommand("custom", function() end)';
    const server = await place.server({ before });
    await place.seconds(60);
    const first = place.api.calls.length;
    const begun = place.clock.now();
    for (let tenth = 0; tenth < 60; tenth++) {
      place.api.send('custom');
      server.addPlayer(10_000 + tenth);
      await place.run(server, 'guild:logAction({ actor = 1, target = 2, action_type = "warn" })');
      await place.seconds(10);
    }
    const minutes = (place.clock.now() - begun) / 60_000;
    const calls = place.api.calls.slice(first);
    const perMinute = (path: RegExp) => (calls.filter((call) => path.test(call.path)).length * servers) / minutes;
    expect(perMinute(/\/heartbeat$/), 'server_heartbeat').toBeLessThan(300);
    expect(perMinute(POLL), 'server_poll').toBeLessThan(300);
    expect(perMinute(/\/ack$/), 'server_ack').toBeLessThan(100);
    expect(perMinute(/\/game\/status$/), 'moderation_check').toBeLessThan(300);
    expect(perMinute(/\/bans\/active$/), 'moderation_read').toBeLessThan(100);
    expect(perMinute(/\/action$/), 'staff_activity').toBeLessThan(200);
    expect(calls.length / minutes, 'requests of a server').toBeLessThan(60);
  }
});
