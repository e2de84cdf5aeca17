import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { type EventSource, withEventSource } from '#kit/events/source.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { connect } from '#test/network/grpc.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { failWrites } from '#test/postgres/failing-table.ts';
import { recordedEvents } from '#test/postgres/recorded-events.ts';
import { callService, TEST_ADMIN_SECRETS, testEnvironment } from '#test/system/signed-calls.ts';
import { lookupService } from './service.ts';

const KEY: EventSource = { kind: 'api_key', id: 'service_900000000000000001_abcdef' };

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

let guilds = 0;
let guildId: string;
beforeEach(() => {
  guildId = String(910_000_000_000_000_000n + BigInt(++guilds));
});

const chat = (number: number) => String(920_000_000_000_000_000n + BigInt(number));
const accounts = (number: number) => ({ chatId: chat(number), gameId: 7000 + number, gameUsername: `User${number}` });
const link = (number: number, operationId: string = randomUUID()) =>
  client.createLink({ guildId, operationId, ...accounts(number) });
const unlink = (number: number, operationId: string = randomUUID()) =>
  client.deleteLink({ guildId, operationId, account: { $case: 'chatId', value: chat(number) } });
const events = () => recordedEvents(database.url, 'lookup', guildId);
const typesOf = async () => (await events()).map(({ type, data }) => `${type} ${data.game_id}`);
const failed = (call: Promise<unknown>) =>
  call.then(
    () => 'succeeded',
    () => 'failed',
  );

describe('link.created', () => {
  test('has the link as REST returns it, and the source of the caller', async () => {
    await withEventSource(KEY, () => link(1));
    const service = { address: lookup.addresses.http ?? '', audience: 'lookup' };
    const shown = await callService(service, { guildId }, { method: 'GET', path: `/lookup/chat/${chat(1)}` });
    expect(await events()).toEqual([
      {
        number: 1,
        type: 'link.created',
        source: KEY,
        persons: [`chat:${chat(1)}`, 'game:7001'],
        data: shown.body.data,
      },
    ]);
  });

  test('has the service as its source if the caller sent none', async () => {
    await link(1);
    expect(await events()).toMatchObject([{ source: { kind: 'system', id: 'lookup' } }]);
  });
});

describe('link.removed', () => {
  test('has the accounts and the time as the list of removed links returns them', async () => {
    await link(1);
    await withEventSource(KEY, () => unlink(1));
    const request = { guildId, updatedSince: 0, limit: 10, position: '', withUnlinked: true };
    const [removed] = (await client.listLinks(request)).unlinked;
    expect((await events()).at(-1)).toEqual({
      number: 2,
      type: 'link.removed',
      source: KEY,
      persons: [`chat:${chat(1)}`, 'game:7001'],
      data: { chat_id: chat(1), game_id: 7001, unlinked_at: removed?.unlinkedAt },
    });
    expect(removed?.unlinkedAt).toBeGreaterThan(unixSeconds(Date.now()) - 60);
  });

  test('is not recorded when a user is erased, and the recorded events lose their data', async () => {
    for (const number of [1, 2]) await link(number);
    const address = lookup.addresses.grpc ?? '';
    const operator = connect(ErasureServiceService, 'lookup', address, undefined, TEST_ADMIN_SECRETS);
    await operator.client.eraseUser({ guildId, gameId: 7001, chatId: chat(1), dryRun: false }).finally(operator.close);
    expect((await client.getLinks({ guildId, chatIds: [chat(1)], gameIds: [] })).links).toEqual([]);
    const rows = await databaseRows(
      database.url,
      'SELECT number::int, persons, data FROM lookup.events WHERE guild_id = $1 ORDER BY number',
      [guildId],
    );
    expect(rows).toEqual([
      { number: 1, persons: [], data: { erased: true } },
      { number: 2, persons: [`chat:${chat(2)}`, 'game:7002'], data: expect.objectContaining({ game_id: 7002 }) },
    ]);
  });
});

test('repeats of an operation and rejected changes record nothing, also after retention deleted the ID', async () => {
  const [linking, unlinking] = [randomUUID(), randomUUID()];
  for (const _ of [1, 2]) await link(1, linking);
  expect(await failed(link(1))).toBe('failed');
  for (const _ of [1, 2]) await unlink(1, unlinking);
  expect(await failed(unlink(1))).toBe('failed');
  await databaseRows(database.url, 'DELETE FROM lookup.operations WHERE guild_id = $1', [guildId]);
  expect((await link(1, linking)).link).toMatchObject({ gameId: 7001 });
  expect((await unlink(1, unlinking)).link).toMatchObject({ gameId: 7001 });
  expect(await typesOf()).toEqual(['link.created 7001', 'link.removed 7001']);
});

describe('a change and its event commit together', () => {
  const links = async () => (await client.getLinks({ guildId, chatIds: [chat(1), chat(2)], gameIds: [] })).links;

  test('without its event a change is not saved', async () => {
    await link(1);
    const repair = await failWrites(database.url, 'lookup.events', guildId, 'statement');
    expect(await failed(link(2))).toBe('failed');
    expect(await failed(unlink(1))).toBe('failed');
    await repair();
    expect(await links()).toMatchObject([{ gameId: 7001 }]);
    expect(await typesOf()).toEqual(['link.created 7001']);
  });

  test('a change that is rolled back leaves no event and uses no number', async () => {
    await link(1);
    const repair = await failWrites(database.url, 'lookup.links', guildId, 'commit');
    expect(await failed(link(2))).toBe('failed');
    expect(await failed(unlink(1))).toBe('failed');
    await repair();
    await link(2);
    expect(await typesOf()).toEqual(['link.created 7001', 'link.created 7002']);
  });

  test('the events of many writers of one guild are numbered without gaps, an account’s in the order of its changes', async () => {
    const numbers = Array.from({ length: 16 }, (_, index) => index + 1);
    await Promise.all(
      numbers.map(async (number) => {
        await link(number);
        await unlink(number);
        await link(number);
      }),
    );
    const types = await typesOf();
    expect(types).toHaveLength(48);
    for (const number of numbers) {
      const own = types.filter((type) => type.endsWith(` ${7000 + number}`)).map((type) => type.split(' ')[0]);
      expect(own).toEqual(['link.created', 'link.removed', 'link.created']);
    }
  });
});
