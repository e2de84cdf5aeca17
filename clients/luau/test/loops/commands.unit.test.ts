import { expect, test } from 'vitest';
import { newPlace } from './place.ts';

const HEARTBEAT = '/game/servers/heartbeat';
const ACK = /\/ack$/;

/** Handlers that note which commands they ran, in `_G.ran`. */
const NOTING = `
  _G.ran = {}
  guild:onCommand("custom", function(command)
    table.insert(_G.ran, command.payload.text)
    return true, { length = #command.payload.text }
  end)`;

test('a command is run once, and the next heartbeat acknowledges it', async () => {
  const place = newPlace();
  const server = await place.server({ before: NOTING });
  await place.seconds(10);
  const first = place.api.send('custom', { payload: { text: 'one' } });
  const second = place.api.send('custom', { payload: { text: 'three' } });
  await place.seconds(35);

  expect(await place.run(server, 'return _G.ran')).toEqual(['one', 'three']);
  expect(first.acked).toEqual({ status: 'success', result: { length: 3 }, error: undefined });
  expect(second.acked?.result).toEqual({ length: 5 });
  expect([first.attempt, second.attempt]).toEqual([1, 1]);
  expect(place.api.callsOf(ACK)).toEqual([]);
});

test('with a long interval a polled command is acknowledged by a call, within its lease', async () => {
  const place = newPlace();
  place.api.interval = 75;
  const server = await place.server({ before: NOTING, settings: 'loops = { wakeUp = { topic = "guild-data" } }' });
  await place.seconds(20);
  const command = place.api.send('custom', { payload: { text: 'now' } });
  place.universe.messaging.publish('guild-data', '"poll"');
  await place.seconds(25);

  expect(place.api.callsOf(HEARTBEAT)).toHaveLength(1);
  expect(await place.run(server, 'return _G.ran')).toEqual(['now']);
  expect(command.acked?.status).toBe('success');
  expect(command.attempt).toBe(1);
});

test('a command whose delivery or acknowledgement was lost is not lost, and is run once', async () => {
  const place = newPlace();
  const server = await place.server({ before: NOTING });
  await place.seconds(8);
  const command = place.api.send('custom', { payload: { text: 'once' } });
  const lost: string[] = [];
  server.network.fault = ({ url, body }) => {
    // The response with the first delivery, and then the response to the first acknowledgement, do not arrive.
    const isDelivery = command.attempt === 0;
    const isAck = !isDelivery && !lost.includes('ack') && String(body).includes(command.command_id);
    if (!isDelivery && !isAck) return undefined;
    if (url.includes('/game/servers/')) lost.push(isAck ? 'ack' : 'delivery');
    return { kind: 'reset-after-send' };
  };
  await place.seconds(120);

  expect(lost).toEqual(['delivery', 'ack']);
  expect(await place.run(server, 'return _G.ran')).toEqual(['once']);
  expect(command.attempt).toBe(2);
  expect(command.acked?.status).toBe('success');
});

test('acknowledgements that cannot be sent keep a command from running again after its lease', async () => {
  const place = newPlace();
  const server = await place.server({ before: NOTING });
  await place.seconds(8);
  const command = place.api.send('custom', { payload: { text: 'once' } });
  // Every heartbeat with an acknowledgement and every call fails, so that the lease ends several times.
  place.api.fail = ({ path, body }) =>
    ACK.test(path) || (path === HEARTBEAT && body.acks.length > 0) ? { status: 503, retryAfter: 5 } : undefined;
  await place.seconds(150);
  expect(command.attempt).toBeGreaterThan(2);
  expect(command.acked).toBeUndefined();
  place.api.fail = () => undefined;
  await place.seconds(60);

  expect(command.acked?.status).toBe('success');
  expect(await place.run(server, 'return _G.ran')).toEqual(['once']);
});

test('what a handler returns or throws is acknowledged', async () => {
  const place = newPlace();
  const before = `
    guild:onCommand("message", function() error("no such thing") end)
    guild:onCommand("mute", function() return false, "is an owner" end)
    guild:onCommand("unmute", function() return "rejected", "no mutes here" end)
    guild:onCommand("custom", function(command)
      if command.payload.kind == "function" then return true, print end
      if command.payload.kind == "large" then return true, string.rep("x", 10_000) end
      if command.payload.kind == "text" then return false, "broken \\255 text\\0" end
    end)`;
  const server = await place.server({ before });
  const failed = place.api.send('message');
  const refused = place.api.send('mute');
  const rejected = place.api.send('unmute');
  const unhandled = place.api.send('broadcast');
  const nothing = place.api.send('custom', { payload: {} });
  const unsendable = place.api.send('custom', { payload: { kind: 'function' } });
  const large = place.api.send('custom', { payload: { kind: 'large' } });
  const text = place.api.send('custom', { payload: { kind: 'text' } });
  await place.seconds(40);

  expect(failed.acked).toMatchObject({ status: 'failed', error: expect.stringContaining('no such thing') });
  expect(refused.acked).toMatchObject({ status: 'failed', error: 'is an owner' });
  expect(rejected.acked).toMatchObject({ status: 'rejected', error: 'no mutes here' });
  expect(unhandled.acked).toMatchObject({ status: 'rejected', error: 'this server has no handler for broadcast' });
  expect(nothing.acked).toMatchObject({ status: 'success' });
  expect(unsendable.acked).toMatchObject({ status: 'success', result: expect.stringContaining('function') });
  expect(large.acked).toMatchObject({ status: 'success', result: { truncated: true, bytes: 10_002 } });
  expect(text.acked).toMatchObject({ status: 'failed', error: 'broken ? text ' });
  expect(server.output.filter(({ text: line }) => line.includes('no such thing'))).toHaveLength(1);
});

test('a handler that takes long delays later commands by ten seconds only, and is not started again', async () => {
  const place = newPlace();
  const before = `
    _G.ran = {}
    guild:onCommand("custom", function(command)
      table.insert(_G.ran, command.payload.text)
      if command.payload.text == "slow" then task.wait(100) end
    end)`;
  const server = await place.server({ before });
  const slow = place.api.send('custom', { payload: { text: 'slow' } });
  const next = place.api.send('custom', { payload: { text: 'next' } });
  await place.seconds(9);
  expect(await place.run(server, 'return _G.ran')).toEqual(['slow']);
  await place.seconds(20);
  expect(next.acked?.status).toBe('success');
  expect(slow.acked).toBeUndefined();
  await place.seconds(120);

  expect(slow.attempt).toBeGreaterThan(1);
  expect(slow.acked?.status).toBe('success');
  expect(await place.run(server, 'return _G.ran')).toEqual(['slow', 'next']);
});

test('a command whose handler was cancelled by the game is acknowledged as failed, and is not run again', async () => {
  const place = newPlace();
  const before = `
    _G.ran = 0
    guild:onCommand("custom", function(command)
      _G.ran += 1
      task.delay(command.payload.seconds, task.cancel, coroutine.running())
      coroutine.yield()
    end)`;
  const server = await place.server({ before });
  await place.seconds(8);
  const early = place.api.send('custom', { payload: { seconds: 1 } });
  const late = place.api.send('custom', { payload: { seconds: 20 } });
  await place.seconds(150);
  for (const { acked } of [early, late]) {
    expect(acked).toMatchObject({ status: 'failed', error: 'the thread of the handler was cancelled' });
  }
  expect(await place.run(server, 'return _G.ran')).toBe(2);
});

test('kick and shutdown need no handler', async () => {
  const place = newPlace();
  const server = await place.server();
  server.addPlayer(7001);
  server.addPlayer(7002);
  await place.seconds(8);
  const kick = place.api.send('kick', { target: { game_id: 7001, game_username: null }, payload: { reason: 'spam' } });
  const absent = place.api.send('kick', { target: { game_id: 9, game_username: null } });
  const shutdown = place.api.send('shutdown', { payload: { delay_seconds: 30, reason: 'Update' } });
  await place.seconds(40);

  expect(kick.acked).toMatchObject({ status: 'success', result: { kicked: true } });
  expect(absent.acked).toMatchObject({ status: 'success', result: { kicked: false } });
  expect(shutdown.acked?.status).toBe('success');
  await place.seconds(20);
  server.addPlayer(7003);
  await place.seconds(1);
  expect(server.kicks).toEqual([
    { userId: 7001, reason: 'You were kicked from this server.\nspam' },
    { userId: 7002, reason: 'Update' },
    { userId: 7003, reason: 'Update' },
  ]);
});

test('a message of the operator ends the pause between polls', async () => {
  const place = newPlace();
  place.api.interval = 60;
  const server = await place.server({ before: NOTING, settings: 'loops = { wakeUp = { topic = "guild-data" } }' });
  await place.seconds(30);
  place.api.send('custom', { payload: { text: 'awake' } });
  await place.seconds(5);
  expect(await place.run(server, 'return _G.ran')).toEqual([]);
  place.universe.messaging.publish('guild-data', '"poll"');
  await place.seconds(4);
  expect(await place.run(server, 'return _G.ran')).toEqual(['awake']);

  // Many messages cause few polls.
  const before = place.api.callsOf(/\/commands$/).length;
  for (let count = 0; count < 30; count++) {
    place.universe.messaging.publish('guild-data', '"poll"');
  }
  await place.seconds(4);
  expect(place.api.callsOf(/\/commands$/).length - before).toBeLessThan(5);
});
