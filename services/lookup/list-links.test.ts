import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import { type Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { connect } from '#test/network/grpc.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { lookupService } from './service.ts';

let database: TestDatabase;
let lookup: RunningService;
let client: GrpcClient<typeof LookupServiceService>;
let close: () => void;

beforeAll(async () => {
  database = await createTestDatabase();
  lookup = await startService(lookupService, testEnvironment(database.url));
  ({ client, close } = connect(LookupServiceService, 'lookup', lookup.addresses.grpc ?? ''));
});

afterAll(async () => {
  close();
  await lookup.stop();
  await database.drop();
});

let nextGuild = 1;
let guildId: string;

beforeEach(() => {
  guildId = `91000000000000${String(nextGuild++).padStart(4, '0')}`;
});

const chat = (number: number) => `9200000000000000${String(number).padStart(2, '0')}`;
const linkOf = (number: number) => ({ chatId: chat(number), gameId: 7000 + number, gameUsername: `User${number}` });
const create = (link: Omit<Link, 'version'>) => client.createLink({ guildId, operationId: randomUUID(), ...link });

describe('ListLinks', () => {
  test('pages contain every link once, least recently changed first', async () => {
    for (let number = 1; number <= 7; number++) await create(linkOf(number));
    const found: string[] = [];
    let position = '';
    let pages = 0;
    do {
      const page = await client.listLinks({ guildId, withUnlinked: false, updatedSince: 0, limit: 3, position });
      found.push(...page.links.map(({ chatId }) => chatId));
      position = page.nextPosition;
      pages++;
    } while (position !== '');
    expect(found).toEqual([1, 2, 3, 4, 5, 6, 7].map(chat));
    expect(pages).toBe(3);
  });

  test('links that changed within the same microsecond are neither lost nor repeated', async () => {
    for (let number = 1; number <= 6; number++) await create(linkOf(number));
    await databaseRows(
      database.url,
      `UPDATE lookup.links SET updated_at = timestamptz '2026-05-01 10:00:00.123456Z'
         + (CASE WHEN game_id > 7003 THEN 1 ELSE 0 END) * interval '1 microsecond'
       WHERE guild_id = $1`,
      [guildId],
    );
    const found: string[] = [];
    for (let position = '', more = true; more; more = position !== '') {
      const page = await client.listLinks({ guildId, withUnlinked: false, updatedSince: 0, limit: 1, position });
      found.push(...page.links.map(({ chatId }) => chatId));
      position = page.nextPosition;
    }
    expect(found).toEqual([1, 2, 3, 4, 5, 6].map(chat));
  });

  test('with_unlinked lists removed links in the order of the changes', async () => {
    for (let number = 1; number <= 4; number++) await create(linkOf(number));
    const { serverTime } = await client.listLinks({
      guildId,
      withUnlinked: true,
      updatedSince: 0,
      limit: 100,
      position: '',
    });
    const account = (number: number) => ({ $case: 'chatId' as const, value: chat(number) });
    for (const number of [2, 3])
      await client.deleteLink({ guildId, operationId: randomUUID(), account: account(number) });
    // Linked again, so listed only as a link.
    await create(linkOf(3));
    const found: string[] = [];
    const times = new Set<number>();
    for (let position = '', more = true; more; more = position !== '') {
      const page = await client.listLinks({ guildId, withUnlinked: true, updatedSince: 0, limit: 1, position });
      found.push(...page.links.map(({ chatId }) => chatId), ...page.unlinked.map(({ chatId }) => `-${chatId}`));
      for (const link of page.unlinked) expect(link.unlinkedAt).toBeGreaterThanOrEqual(serverTime);
      times.add(page.serverTime);
      position = page.nextPosition;
    }
    expect(found).toEqual([chat(1), chat(4), `-${chat(2)}`, chat(3)]);
    // Every page has the server time of the first page.
    expect(times.size).toBe(1);
    const later = { guildId, withUnlinked: true, updatedSince: serverTime + 3_600, limit: 100, position: '' };
    expect(await client.listLinks(later)).toMatchObject({ links: [], unlinked: [] });
    const without = await client.listLinks({ guildId, withUnlinked: false, updatedSince: 0, limit: 100, position: '' });
    expect(without.unlinked).toEqual([]);
  });

  test('a position of the previous release is accepted', async () => {
    await create(linkOf(1));
    const old = { guildId, withUnlinked: false, updatedSince: 0, limit: 10, position: `1_${chat(1)}` };
    // The next request for changes then returns all of them.
    expect(await client.listLinks(old)).toMatchObject({ links: [{ chatId: chat(1) }], serverTime: 0 });
  });

  test.each(['x', '1_2', '99999999999999999_920000000000000001', `1_${chat(1)}'`])(
    'rejects position %s',
    async (position) => {
      const call = client.listLinks({ guildId, withUnlinked: false, updatedSince: 0, limit: 1, position });
      await expect(call).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    },
  );
});
