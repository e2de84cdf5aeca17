import { expect, test } from 'vitest';
import { ReadCache } from '#kit/changes/read-cache.ts';
import { ManualClock } from '#kit/clock.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import type { Link, LinksRequest } from '../store/links.ts';
import { LookupTelemetry } from '../telemetry.ts';
import { accountName, CachedLinks } from './cached-links.ts';

const GUILD = '900000000000000001';
const OTHER_GUILD = '900000000000000002';
const link = (number: number): Link => ({
  chatId: `92000000000000000${number}`,
  gameId: 7000 + number,
  gameUsername: `Player${number}`,
  version: number,
});
const [ADA, BEN] = [link(1), link(2)];
const notFound = expect.objectContaining({ code: 'NOT_FOUND' });

/** Links of GUILD in a list instead of the database; `reads` are the requests that reached it. */
async function start(stored: Link[]) {
  const reads: Omit<LinksRequest, 'guildId'>[] = [];
  let isReceiving = true;
  const cache = new ReadCache<Link>({ clock: new ManualClock(), ttlMs: 60_000, max: 100 });
  const metrics = new Metrics();
  const telemetry = new LookupTelemetry(metrics, await createLog({ service: 'test', level: 'silent' }));
  const find = async (guildId: string, users: Omit<LinksRequest, 'guildId'>) => {
    reads.push(users);
    const found = stored.filter(
      ({ chatId, gameId }) => users.chatIds?.includes(chatId) || users.gameIds?.includes(gameId),
    );
    return guildId === GUILD ? found : [];
  };
  const links = new CachedLinks({ links: { find }, cache, isReceiving: () => isReceiving, telemetry });
  return { links, cache, stored, reads, metrics, receive: (is: boolean) => (isReceiving = is) };
}

test('a link is read once for each of its accounts, and only for its guild', async () => {
  const { links, reads, metrics } = await start([ADA]);
  for (const account of [{ chatId: ADA.chatId }, { gameId: ADA.gameId }]) {
    for (let time = 1; time <= 3; time++) expect(await links.get(GUILD, account)).toEqual(ADA);
    await expect(links.get(OTHER_GUILD, account)).rejects.toEqual(notFound);
  }
  expect(reads).toHaveLength(4);
  const text = await metrics.text();
  expect(text).toContain('lookup_lookups_total{source="memory"} 4');
  expect(text).toContain('lookup_lookups_total{source="database"} 4');
});

test('that a user is not linked is not cached, so a new link is found at once', async () => {
  const { links, stored } = await start([]);
  const byGame = { guildId: GUILD, gameIds: [ADA.gameId] };
  await expect(links.get(GUILD, { chatId: ADA.chatId })).rejects.toEqual(notFound);
  expect(await links.find(byGame)).toEqual([]);
  stored.push(ADA);
  expect(await links.get(GUILD, { chatId: ADA.chatId })).toEqual(ADA);
  expect(await links.find(byGame)).toEqual([ADA]);
});

test('of several users only those are read that are not cached', async () => {
  const { links, reads } = await start([ADA, BEN]);
  await links.get(GUILD, { gameId: ADA.gameId });
  expect(await links.find({ guildId: GUILD, gameIds: [ADA.gameId, BEN.gameId, 1] })).toEqual([ADA, BEN]);
  expect(await links.find({ guildId: GUILD, gameIds: [BEN.gameId, ADA.gameId] })).toEqual([BEN, ADA]);
  expect(reads.slice(1)).toEqual([{ chatIds: [], gameIds: [BEN.gameId, 1] }]);
});

test('a link that is asked for by both accounts is found once, cached or not', async () => {
  const { links } = await start([ADA]);
  const both = { guildId: GUILD, chatIds: [ADA.chatId], gameIds: [ADA.gameId] };
  for (let time = 1; time <= 2; time++) expect(await links.find(both)).toEqual([ADA]);
});

test('a new link is found beside a cached one of the same chat account, whose removal by another replica has not arrived yet', async () => {
  const { links, stored } = await start([ADA]);
  const moved = { ...ADA, gameId: BEN.gameId, version: 3 };
  await links.get(GUILD, { gameId: ADA.gameId });
  stored[0] = moved;
  await links.get(GUILD, { gameId: moved.gameId });
  const both = { guildId: GUILD, gameIds: [moved.gameId, ADA.gameId] };
  expect(await links.find(both)).toEqual([moved, ADA]);
});

test('an account whose link was invalidated is read again', async () => {
  const { links, cache, stored } = await start([ADA]);
  for (const account of [{ chatId: ADA.chatId }, { gameId: ADA.gameId }]) await links.get(GUILD, account);
  stored.length = 0;
  for (const account of [{ chatId: ADA.chatId }, { gameId: ADA.gameId }]) {
    expect(await links.get(GUILD, account)).toEqual(ADA);
    cache.invalidate(accountName(GUILD, account));
    await expect(links.get(GUILD, account)).rejects.toEqual(notFound);
  }
});

test('a link that was removed while it was read is not cached', async () => {
  const { links, cache, stored } = await start([ADA]);
  const reading = links.get(GUILD, { gameId: ADA.gameId });
  stored.length = 0;
  cache.invalidate(accountName(GUILD, { gameId: ADA.gameId }));
  expect(await reading).toEqual(ADA);
  await expect(links.get(GUILD, { gameId: ADA.gameId })).rejects.toEqual(notFound);
});

test('a replica that may miss removals reads each link', async () => {
  const { links, reads, receive } = await start([ADA]);
  const twice = async () => {
    const before = reads.length;
    for (let time = 1; time <= 2; time++) await links.get(GUILD, { gameId: ADA.gameId });
    return reads.length - before;
  };
  receive(false);
  expect(await twice()).toBe(2);
  receive(true);
  expect(await twice()).toBe(0);
});
