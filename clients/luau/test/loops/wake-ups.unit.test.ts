import { beforeEach, expect, test } from 'vitest';
import type { Engine } from '../engine/engine.ts';
import { newPlace, type Place } from './place.ts';

const TOPIC = 'guild-data-900000000000000001';
const POLL = /\/commands$/;
const INTERVAL = 15;
const STEP_MS = 50;
const COMMANDS = 60;

/** A handler without which commands would be rejected. */
const HANDLER = 'guild:onCommand("custom", function() return true end)';

let place: Place;
beforeEach(() => {
  place = newPlace();
  place.api.wakeUpTopic = TOPIC;
});

/** A message of the platform's web API, whose data is always a string. */
const publish = (message: object = {}) =>
  place.universe.messaging.publish(TOPIC, JSON.stringify(JSON.stringify(message)));

/** Sends a command with a message, and returns the seconds until a server has it. */
async function secondsOf(message: object): Promise<number> {
  const sentAt = place.clock.now();
  const command = place.api.send('custom');
  publish(message);
  while (command.attempt === 0) await place.clock.advance(STEP_MS);
  return (place.clock.now() - sentAt) / 1000;
}

/** The 95th percentile of the seconds that commands take, which are sent at all times of the interval. */
async function percentile(message: object = {}): Promise<number> {
  const seconds: number[] = [];
  for (let count = 0; count < COMMANDS; count++) {
    await place.seconds((count * 7.3) % INTERVAL);
    seconds.push(await secondsOf(message));
  }
  return seconds.toSorted((a, b) => a - b)[Math.ceil(0.95 * COMMANDS) - 1] ?? Number.NaN;
}

async function liveServer(): Promise<Engine> {
  const server = await place.server({ before: HANDLER });
  await place.seconds(20);
  return server;
}

test('with a bus that takes a second, 95 per cent of the commands arrive within one and a half', async () => {
  const server = await liveServer();
  expect(await percentile()).toBeLessThan(1.5);
  expect(await percentile({ servers: ['another', server.jobId] })).toBeLessThan(1.5);
});

test('with all messages lost no command is lost, and 95 per cent arrive within one heartbeat', async () => {
  await liveServer();
  place.universe.messaging.lose = () => true;
  expect(await percentile()).toBeLessThanOrEqual(INTERVAL);
  await place.seconds(2 * INTERVAL);
  expect(place.api.commands.filter(({ acked }) => acked?.status !== 'success')).toEqual([]);
});

test('a message that names other servers or places wakes nobody', async () => {
  place.api.interval = 60;
  await liveServer();
  const before = place.api.callsOf(POLL).length;
  const polled = async (message: object) => {
    publish(message);
    await place.seconds(2.4);
    return place.api.callsOf(POLL).length > before;
  };
  expect(await polled({ servers: ['another'] })).toBe(false);
  expect(await polled({ places: [98] })).toBe(false);
  expect(await polled({ servers: ['another'], places: [98, 99] })).toBe(false);
  expect(await polled({})).toBe(true);
});

test('a server follows the topic when it changes, and stays subscribed when heartbeats stop naming it', async () => {
  place.api.interval = 60;
  await liveServer();
  place.api.wakeUpTopic = undefined;
  await place.seconds(65);
  expect(await secondsOf({})).toBeLessThan(3);

  place.api.wakeUpTopic = 'another topic';
  await place.seconds(70);
  const command = place.api.send('custom');
  publish();
  await place.seconds(3);
  expect(command.attempt).toBe(0);
  place.universe.messaging.publish('another topic', '"{}"');
  await place.seconds(3);
  expect(command.attempt).toBe(1);
});

test('a plugin that disables wake-ups does not subscribe', async () => {
  place.api.interval = 60;
  await place.server({ before: HANDLER, settings: 'loops = { wakeUp = false }' });
  await place.seconds(30);
  const command = place.api.send('custom');
  publish();
  await place.seconds(3);
  expect(command.attempt).toBe(0);
});

test('commands of a moment that is too short for several polls are all fetched', async () => {
  place.api.interval = 60;
  await liveServer();
  const first = place.api.send('custom');
  publish();
  await place.seconds(1.3);
  const second = place.api.send('custom');
  publish();
  await place.seconds(3.5);
  expect([first.attempt, second.attempt]).toEqual([1, 1]);
});
