import { expect, test } from 'vitest';
import { GUILD } from './fake-api.ts';
import { newPlace, type Place } from './place.ts';

const ACTION = '/staff/game/action';

const log = (count: number, from = 1) => `
  for number = ${from}, ${from + count - 1} do
    guild:logAction({ actor = 9001, target = number, action_type = "warn", reason = "spam" })
  end`;

const targets = (place: Place) => [...place.api.actions.values()].map(({ target_game_id }) => target_game_id);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('actions are sent in order, with the ID of the action as idempotency key', async () => {
  const place = newPlace();
  const server = await place.server({ game: { PlaceId: 4001, JobId: 'job-1' } });
  const returned = await place.run(
    server,
    `local id = guild:logAction({ actor = 9001, target = 7001, action_type = "kick", reason = "spam", details = { count = 2 } })
    return id`,
  );
  await place.run(server, log(5));
  await place.seconds(10);
  const [call] = place.api.callsOf(ACTION);
  expect(call?.headers['idempotency-key']).toBe(returned);
  expect(call?.body).toEqual({
    guild_id: GUILD,
    action_id: returned,
    actor_game_id: 9001,
    target_game_id: 7001,
    action_type: 'kick',
    place_id: 4001,
    server_id: 'job-1',
    details: { reason: 'spam', count: 2 },
    occurred_at: expect.any(Number),
  });
  expect(targets(place)).toEqual([7001, 1, 2, 3, 4, 5]);
});

test('an outage of five minutes loses no action, and none is logged twice', async () => {
  const place = newPlace();
  const server = await place.server();
  await place.seconds(10);
  await place.run(server, log(3));
  server.network.down = true;
  for (let minute = 0; minute < 5; minute++) {
    await place.run(server, log(20, 4 + minute * 20));
    await place.seconds(60);
  }
  server.network.down = false;
  // The first responses are lost too: the API has the actions already.
  let lost = 0;
  server.network.fault = ({ url }) => (url.endsWith(ACTION) && lost++ < 2 ? { kind: 'reset-after-send' } : undefined);
  await place.seconds(300);
  expect(targets(place)).toEqual(upTo(103));
});

test('a rejected action is dropped, and those after it are sent', async () => {
  const place = newPlace();
  const server = await place.server();
  place.api.fail = ({ path, body }) =>
    path === ACTION && body.target_game_id === 2 ? { status: 400, details: { code: 'INVALID_REQUEST' } } : undefined;
  await place.run(server, log(3));
  await place.seconds(10);
  expect(targets(place)).toEqual([1, 3]);
  const reasons = `
    local _, noActor = guild:logAction({ action_type = "kick" })
    local _, noType = guild:logAction({ actor = 1, action_type = "" })
    return { noActor, noType }`;
  expect(await place.run(server, reasons)).toEqual([
    'the action has no actor: pass a player or a user ID',
    'the action has no action_type',
  ]);
  const large =
    'guild:logAction({ actor = 1, action_type = "x", details = { text = string.rep("y", 5000), f = print } })';
  await place.run(server, large);
  await place.seconds(10);
  expect([...place.api.actions.values()].at(-1)?.details).toEqual({ truncated: true });
});

test('a closing server sends what is left within 30 seconds', async () => {
  const place = newPlace();
  const server = await place.server();
  server.network.latency = 500;
  await place.seconds(10);
  await place.run(server, log(40));
  const begun = place.clock.now();
  await place.clock.until(server.close());
  expect(place.clock.now() - begun).toBeLessThan(30_000);
  expect(targets(place).toSorted((a, b) => a - b)).toEqual(upTo(40));
});

test('what a closing server cannot send is stored, and another server sends it', async () => {
  const place = newPlace();
  const server = await place.server();
  await place.seconds(10);
  server.network.fault = () => ({ kind: 'silent' });
  await place.run(server, log(60));
  const begun = place.clock.now();
  await place.clock.until(server.close());
  expect(place.clock.now() - begun).toBeLessThan(30_000);
  expect(place.api.actions.size).toBe(0);

  await place.server();
  await place.seconds(1500);
  expect(targets(place).toSorted((a, b) => a - b)).toEqual(upTo(60));
  expect(JSON.parse(place.universe.dataStores.entries.get(`GuildData_${GUILD}/global/actions`)?.value ?? '')).toEqual(
    [],
  );
});

test('an action is logged with its details as they were, whatever the game does with its table until it is sent', async () => {
  const place = newPlace();
  const server = await place.server();
  await place.seconds(10);
  server.network.down = true;
  await place.run(
    server,
    `local details = { items = { "sword" }, none = require(game.ServerScriptService.GuildData).null }
    guild:logAction({ actor = 9001, target = 1, action_type = "warn", details = details })
    ${log(2, 2)}
    details.items[2] = game
    details.items[5] = print`,
  );
  await place.clock.until(server.close());
  expect(server.output.filter(({ text }) => text.includes('stored'))).toEqual([]);

  await place.server();
  await place.seconds(1500);
  expect(targets(place).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  expect([...place.api.actions.values()][0].details).toMatchObject({ items: ['sword'] });
});

test('an action whose type has line breaks or control characters is logged', async () => {
  const place = newPlace();
  const server = await place.server();
  await place.run(
    server,
    'guild:logAction({ actor = 1, action_type = "a\\tb\\nc\\rd\\u{85}e", reason = "line\\nbreak" })',
  );
  await place.seconds(10);
  expect([...place.api.actions.values()]).toMatchObject([
    { action_type: 'a b c d e', details: { reason: 'line\nbreak' } },
  ]);
});

test('the oldest actions are dropped only above the bound, with a warning', async () => {
  const place = newPlace();
  const server = await place.server({ settings: 'loops = { bans = false }' });
  server.network.down = true;
  await place.run(server, log(5_000));
  expect(server.output.filter(({ text }) => text.includes('dropped'))).toEqual([]);
  await place.run(server, log(2, 5_001));
  expect(server.output.filter(({ text }) => text.includes('dropped'))).toHaveLength(1);
  const first = 'return { guild.loops.actions.queue[1].target_game_id, #guild.loops.actions.queue }';
  expect(await place.run(server, first)).toEqual([3, 5_000]);
});

test('an action whose first attempt is still running is sent again, and one that was logged differently is not', async () => {
  const place = newPlace();
  const server = await place.server();
  const retryAfter = { status: 409, details: { code: 'CONFLICT' }, retryAfter: 2 };
  const answers = [retryAfter, undefined, { status: 409, details: { code: 'CONFLICT' } }];
  place.api.fail = ({ path }) => (path === '/staff/game/action' ? answers.shift() : undefined);
  await place.run(server, 'guild:logAction({ actor = 1, action_type = "first" })');
  await place.seconds(20);
  await place.run(server, 'guild:logAction({ actor = 1, action_type = "second" })');
  await place.seconds(20);
  expect([...place.api.actions.values()].map((action) => action.action_type)).toEqual(['first']);
  expect(place.api.callsOf('/staff/game/action')).toHaveLength(3);
});
