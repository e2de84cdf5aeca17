import { expect, test } from 'vitest';
import type { Call } from './fake-api.ts';
import { newPlace, type Place } from './place.ts';

const HEARTBEAT = '/game/servers/heartbeat';
const ACK = /\/ack$/;
const INVALID = { status: 400, details: { code: 'INVALID_REQUEST' } };

const FAILING =
  'guild:onCommand("custom", function(command) return false, "unknown item " .. command.payload.item end)';

/** The longest pause between two heartbeats in seconds. A server is live for three intervals of 15 s. */
function longestPause(place: Place): number {
  const times = place.api.callsOf(HEARTBEAT).map(({ at }) => at / 1000);
  return Math.max(...times.slice(1).map((at, index) => at - (times[index] as number)));
}

/** Makes the API reject acknowledgements that contain this text, as another release of the API might. */
function rejectAcksWith(place: Place, text: string): void {
  const hasText = ({ path, body }: Call) =>
    (path === HEARTBEAT || ACK.test(path)) && JSON.stringify(body).includes(text);
  place.api.fail = (call) => (hasText(call) ? INVALID : undefined);
}

test('a reason with any control character is accepted, and the server stays live', async () => {
  const place = newPlace();
  const server = await place.server({ before: FAILING });
  const items = ['\u0000', '\u001F', '\u007F', '\u0080', '\u0092', '\u009F'];
  const commands = items.map((item) => place.api.send('custom', { payload: { item } }));
  const kept = place.api.send('custom', { payload: { item: '\t\n\u00A0é’😀' } });
  await place.seconds(100);
  for (const { acked } of commands) expect(acked).toMatchObject({ status: 'failed', error: 'unknown item  ' });
  expect(kept.acked).toMatchObject({ error: 'unknown item \t\n\u00A0é’😀' });
  expect(longestPause(place)).toBeLessThan(16);
  expect(server.output.filter(({ level }) => level === 'warn')).toEqual([]);
});

test('a result is acknowledged as it was when the handler returned, whatever the game does with its table later', async () => {
  const place = newPlace();
  const before = `
    guild:onCommand("custom", function(command)
      local result = { kind = command.payload.kind, list = { 1, 2 }, none = require(game.ServerScriptService.GuildData).null }
      task.defer(function()
        result.list[5] = game
        result.owner = function() end
      end)
      return true, result
    end)`;
  const server = await place.server({ before });
  const command = place.api.send('custom', { payload: { kind: 'live' } });
  await place.seconds(60);
  expect(command.acked).toMatchObject({ status: 'success', result: { kind: 'live', list: [1, 2], none: null } });
  expect(longestPause(place)).toBeLessThan(16);
  expect(server.output.filter(({ level }) => level === 'warn')).toEqual([]);
});

test('a result of any depth leaves the server live', async () => {
  const place = newPlace();
  const before = `
    guild:onCommand("custom", function(command)
      local result = {}
      for _ = 2, command.payload.depth do result = { result } end
      return true, result
    end)`;
  const server = await place.server({ before });
  const depths = [17, 18, 19, 20, 21, 40];
  const commands = depths.map((depth) => place.api.send('custom', { payload: { depth } }));
  await place.seconds(60);
  expect(commands.map(({ acked }) => typeof acked?.result)).toEqual(['object', ...Array(5).fill('string')]);
  expect(longestPause(place)).toBeLessThan(16);
  expect(server.output.filter(({ level }) => level === 'warn')).toEqual([]);
});

test('an acknowledgement that the API rejects is sent without its reason at once, and the server stays live', async () => {
  const place = newPlace();
  const server = await place.server({ before: FAILING });
  rejectAcksWith(place, 'poison');
  const command = place.api.send('custom', { payload: { item: 'poison' } });
  await place.seconds(100);
  expect(command.acked).toEqual({ status: 'failed', result: undefined, error: undefined });
  expect(command.attempt).toBe(1);
  expect(longestPause(place)).toBeLessThan(16);
  expect(server.output.filter(({ text }) => text.includes('without their results'))).toHaveLength(1);
});

test('the last heartbeat is sent without the reasons that the API rejects, within the time of a closing server', async () => {
  const place = newPlace();
  const server = await place.server({ before: FAILING });
  await place.seconds(6);
  rejectAcksWith(place, 'poison');
  const command = place.api.send('custom', { payload: { item: 'poison' } });
  while (command.attempt === 0) await place.seconds(1);
  await place.seconds(1);
  expect(command.acked).toBeUndefined();
  const begun = place.clock.now();
  await place.clock.until(server.close());
  expect(place.clock.now() - begun).toBeLessThan(25_000);
  expect(command.acked?.status).toBe('failed');
  expect(place.api.callsOf(HEARTBEAT).at(-1)?.body.final).toBe(true);
});

test('a heartbeat that is rejected for another reason keeps the acknowledgements', async () => {
  const place = newPlace();
  await place.server({ before: FAILING });
  await place.seconds(6);
  const command = place.api.send('custom', { payload: { item: 'x' } });
  while (command.attempt === 0) await place.seconds(1);
  place.api.fail = ({ path }) =>
    path === HEARTBEAT ? { status: 403, details: { code: 'IP_NOT_ALLOWED' } } : undefined;
  await place.seconds(30);
  place.api.fail = () => undefined;
  await place.seconds(60);
  expect(command.acked).toMatchObject({ status: 'failed', error: 'unknown item x' });
});

test('an acknowledgement by call that the API rejects is repeated once without its reason', async () => {
  const place = newPlace();
  place.api.interval = 75;
  await place.server({ before: FAILING, settings: 'loops = { wakeUp = { topic = "guild-data" } }' });
  await place.seconds(20);
  rejectAcksWith(place, 'poison');
  const command = place.api.send('custom', { payload: { item: 'poison' } });
  place.universe.messaging.publish('guild-data', '"poll"');
  await place.seconds(25);
  expect(command.acked).toEqual({ status: 'failed', result: undefined, error: undefined });
  expect(place.api.callsOf(ACK)).toHaveLength(2);
});

test('an acknowledgement by call that the API never accepts is given up', async () => {
  const place = newPlace();
  place.api.interval = 75;
  await place.server({ before: FAILING, settings: 'loops = { wakeUp = { topic = "guild-data" } }' });
  await place.seconds(20);
  place.api.fail = ({ path }) => (ACK.test(path) ? INVALID : undefined);
  place.api.send('custom', { payload: { item: 'x' } });
  place.universe.messaging.publish('guild-data', '"poll"');
  await place.seconds(40);
  expect(place.api.callsOf(ACK)).toHaveLength(2);
});
