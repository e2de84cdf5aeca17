import { expect, test } from 'vitest';
import type { DataStoreEffect } from '../engine/vm.ts';
import { GUILD } from './fake-api.ts';
import { newPlace, type Place } from './place.ts';

const BANS = /\/game\/bans\/active$/;
const INDEX = `GuildData_${GUILD}/global/bans`;

/** The IDs of the players whom a server kicks that starts while the API is unavailable. */
async function kickedOffline(place: Place, ids: readonly number[], placeId = 1): Promise<number[]> {
  const server = await place.server({ game: { PlaceId: placeId } });
  server.network.down = true;
  for (const id of ids) server.addPlayer(id);
  await place.seconds(40);
  await server.crash();
  return server.kicks.map(({ userId }) => userId).toSorted((a, b) => a - b);
}

test('banned players stay out of a server that starts while the API is unavailable', async () => {
  const place = newPlace();
  place.api.pageSize = 100;
  for (let id = 1; id <= 250; id++) place.api.ban(id);
  place.api.ban(301, { place_id: 4001 });
  place.api.ban(302, { expires_at: Math.floor(place.clock.now() / 1000) + 600 });
  const first = await place.server();
  await place.seconds(120);
  expect(place.api.callsOf(BANS).slice(0, 3)).toHaveLength(3);
  await first.crash();

  expect(await kickedOffline(place, [1, 100, 250, 251, 301, 302])).toEqual([1, 100, 250, 302]);
  await place.seconds(600);
  expect(await kickedOffline(place, [301, 302, 1], 4001)).toEqual([1, 301]);
});

test('the mirror follows bans and lifts, page by page, and stores them', async () => {
  const place = newPlace();
  place.api.pageSize = 2;
  const lifted = place.api.ban(1);
  place.api.ban(2);
  const server = await place.server();
  server.addPlayer(9);
  await place.seconds(120);
  place.api.lift(lifted);
  for (const id of [3, 4, 5, 9]) place.api.ban(id);
  await place.seconds(500);
  // No command reported this ban: the mirror found it.
  expect(server.kicks.map(({ userId }) => userId)).toEqual([9]);
  const changes = place.api.callsOf(BANS).filter(({ query }) => query.has('updated_since'));
  expect(changes.some(({ query }) => query.has('cursor'))).toBe(true);
  await server.crash();
  expect(await kickedOffline(place, [1, 2, 3, 4, 5])).toEqual([2, 3, 4, 5]);
});

test('an unban by command is not undone by changes that were fetched before', async () => {
  const place = newPlace();
  const ban = place.api.ban(1);
  const server = await place.server();
  await place.seconds(120);
  place.api.lift(ban);
  place.api.send('unban', { target: { game_id: 1, game_username: null }, payload: { id: ban.id } });
  await place.seconds(40);
  // An outdated page contains the ban again.
  ban.liftedAt = undefined as never;
  ban.changedAt = place.clock.now();
  await place.seconds(120);
  server.network.down = true;
  server.addPlayer(1);
  await place.seconds(30);
  expect(server.kicks).toEqual([]);
});

test('one server writes; the others load what it stored, and fetch only changes', async () => {
  const place = newPlace();
  for (let id = 1; id <= 400; id++) place.api.ban(id);
  const servers = [await place.server(), await place.server(), await place.server()];
  await place.seconds(240);
  const complete = place.api.callsOf(BANS).filter(({ query }) => !query.has('updated_since'));
  expect(complete).toHaveLength(4);
  for (const server of servers) {
    expect(await place.run(server, 'return guild.loops.mirror.bans.count')).toBe(400);
  }
  expect([...place.universe.dataStores.entries.keys()].filter((key) => key.includes('/bans/'))).toHaveLength(1);

  // Another server takes over when the writer has ended.
  const index = () => JSON.parse(place.universe.dataStores.entries.get(INDEX)?.value ?? '{}');
  const writer = servers.find(({ jobId }) => jobId === index().writer);
  await writer?.crash();
  place.api.ban(500);
  await place.seconds(1200);
  expect(index().writer).not.toBe(writer?.jobId);
  for (const server of servers) await server.crash();
  expect(await kickedOffline(place, [500])).toEqual([500]);
});

test('more bans than fit into one value are stored in parts', async () => {
  const place = newPlace();
  const reason = 'x'.repeat(200);
  for (let id = 1; id <= 5_600; id++) place.api.ban(id, { reason });
  const server = await place.server();
  await place.seconds(300);
  const parts = [...place.universe.dataStores.entries].filter(([key]) => key.includes('/bans/'));
  expect(parts).toHaveLength(3);
  for (const [, { value }] of parts) expect(value.length).toBeLessThan(4_000_000);
  expect(server.output.filter(({ level }) => level === 'warn')).toEqual([]);
  await server.crash();
  expect(await kickedOffline(place, [1, 5_600])).toEqual([1, 5_600]);
});

test('bans whose index could not be written are stored once the DataStore works again', async () => {
  const place = newPlace();
  place.api.ban(1);
  const server = await place.server();
  await place.seconds(120);
  const isIndexWrite = ({ operation, key }: DataStoreEffect) => operation === 'replace' && key === 'bans';
  let failures = 0;
  place.universe.dataStores.fail = (effect) => {
    if (!isIndexWrite(effect)) return undefined;
    failures++;
    return '502: API Services rejected request';
  };
  place.api.ban(2);
  await place.seconds(600);
  expect(failures).toBeGreaterThan(3);
  place.universe.dataStores.fail = () => undefined;
  await place.seconds(600);
  await server.crash();
  expect(await kickedOffline(place, [1, 2])).toEqual([1, 2]);
});

test('a server that could not write the index of the stored bans does not take itself for the one that writes', async () => {
  const place = newPlace();
  place.universe.dataStores.fail = ({ operation }) => (operation === 'replace' ? '502: rejected' : undefined);
  const server = await place.server();
  const claimed = await place.run(
    server,
    `local index, isOthers = guild.loops.mirror.store:claim(180)
    return { isWriter = index ~= nil, isOthers = isOthers }`,
  );
  expect(claimed).toEqual({ isWriter: false, isOthers: false });
});

test('without a DataStore the mirror works from the API alone', async () => {
  const place = newPlace();
  place.universe.dataStores.fail = () => '502: API Services rejected request';
  place.api.ban(1);
  const server = await place.server();
  await place.seconds(200);
  expect(await place.run(server, 'return guild.loops.mirror.bans.count')).toBe(1);
  expect(server.output.some(({ text }) => text.includes('API Services rejected request'))).toBe(true);
  server.network.down = true;
  server.addPlayer(1);
  await place.seconds(20);
  expect(server.kicks).toHaveLength(1);
});
