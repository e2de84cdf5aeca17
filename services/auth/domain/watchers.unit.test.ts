import { expect, test } from 'vitest';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { AuthTelemetry } from '../telemetry.ts';
import type { KeyChange } from './key.ts';
import { Watchers } from './watchers.ts';

const change = (version: number): KeyChange => ({
  guildId: '900000000000000001',
  number: 1,
  version,
  changedAt: new Date(0),
  hashes: [],
});

/** Watchers with recent changes and a database listener that the test controls. */
async function setUp() {
  const database = { recentChanges: async (): Promise<KeyChange[]> => [], isSendingNotifications: true };
  const log = await createLog({ service: 'auth', level: 'silent' });
  const watchers = new Watchers({
    readRecentChanges: async function* () {
      yield await database.recentChanges();
    },
    isReceivingNotifications: () => database.isSendingNotifications,
    telemetry: new AuthTelemetry(new Metrics(), log),
  });
  return { database, watchers };
}

function newWatcher() {
  const connection = new AbortController();
  /** The versions of the changes and the heartbeats, in the order of their arrival. */
  const received: (number | 'beat')[] = [];
  const watcher = {
    sendChange: ({ version }: KeyChange) => void received.push(version),
    sendBeat: () => void received.push('beat'),
    unsent: 0,
    signal: connection.signal,
  };
  return { watcher, received, disconnect: () => connection.abort() };
}

test('changes that happen while the recent changes are read are sent, and no heartbeat is sent before all of them', async () => {
  const { database, watchers } = await setUp();
  const reading = Promise.withResolvers<KeyChange[]>();
  database.recentChanges = () => reading.promise;
  const { watcher, received, disconnect } = newWatcher();
  const watched = watchers.watch(watcher);
  watchers.sendChange(change(2));
  watchers.sendBeat();
  expect(received).toEqual([2]);
  reading.resolve([change(1)]);
  await expect.poll(() => received).toEqual([2, 1, 'beat']);
  disconnect();
  await watched;
  watchers.sendChange(change(3));
  expect(received).toHaveLength(3);
});

test('no heartbeats are sent while no notifications arrive from the database', async () => {
  const { database, watchers } = await setUp();
  database.isSendingNotifications = false;
  const { watcher, received, disconnect } = newWatcher();
  const watched = watchers.watch(watcher);
  database.recentChanges = async () => [change(1)];
  await watchers.sweep();
  watchers.sendBeat();
  expect(received).toEqual([1]);
  disconnect();
  await watched;
});

test('no heartbeats are sent while recent changes cannot be read, and the next heartbeat reads them again', async () => {
  const { database, watchers } = await setUp();
  const { watcher, received, disconnect } = newWatcher();
  const watched = watchers.watch(watcher);
  await expect.poll(() => received).toEqual(['beat']);
  database.recentChanges = () => Promise.reject(new Error('no database'));
  await watchers.rereadRecentChanges();
  watchers.sendBeat();
  expect(received).toEqual(['beat']);
  database.recentChanges = async () => [change(4)];
  watchers.sendBeat();
  await expect.poll(() => received).toEqual(['beat', 4]);
  watchers.sendBeat();
  expect(received).toEqual(['beat', 4, 'beat']);
  disconnect();
  await watched;
});

test('a watcher that receives too slowly is disconnected, and the others are not', async () => {
  const { watchers } = await setUp();
  const [slow, quick] = [newWatcher(), newWatcher()];
  const [slowStream, quickStream] = [watchers.watch(slow.watcher), watchers.watch(quick.watcher)];
  slow.watcher.unsent = 10_001;
  watchers.sendChange(change(1));
  await slowStream;
  watchers.sendChange(change(2));
  expect(quick.received.filter((item) => item !== 'beat')).toEqual([1, 2]);
  quick.disconnect();
  await quickStream;
});

test('a watcher is rejected if the recent changes cannot be read', async () => {
  const { database, watchers } = await setUp();
  database.recentChanges = () => Promise.reject(new Error('no database'));
  await expect(watchers.watch(newWatcher().watcher)).rejects.toThrow('no database');
});
