import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import { type Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { connect } from '#test/network/grpc.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { lookupService } from '../service.ts';

const GUILD = '900000000000000001';
const CHAT = '920000000000000001';

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
const create = (link: Omit<Link, 'version'>, operationId = randomUUID()) =>
  client.createLink({ guildId, operationId, ...link });
const removeByChat = (chatId: string, operationId = randomUUID()) =>
  client.deleteLink({ guildId, operationId, account: { $case: 'chatId', value: chatId } });
const linksOf = async (...chatIds: string[]) => (await client.getLinks({ guildId, chatIds, gameIds: [] })).links;

describe('CreateLink', () => {
  test('links two accounts, neither of which can be linked again', async () => {
    const { link } = await create(linkOf(1));
    expect(link).toEqual({ ...linkOf(1), version: expect.any(Number) });
    for (const taken of [linkOf(1), { ...linkOf(2), gameId: 7001 }, { ...linkOf(2), chatId: chat(1) }]) {
      await expect(create(taken)).rejects.toMatchObject({ code: 'CONFLICT' });
    }
    expect(await linksOf(chat(1), chat(2))).toEqual([link]);
  });

  test('a repeated operation has its first outcome, even after the link was removed', async () => {
    const operationId = randomUUID();
    const first = await create(linkOf(1), operationId);
    expect(await create(linkOf(1), operationId)).toEqual(first);
    await removeByChat(chat(1));
    expect(await create(linkOf(1), operationId)).toEqual(first);
    expect(await linksOf(chat(1))).toEqual([]);
    const again = await create(linkOf(1));
    expect(again.link?.version).toBeGreaterThan(first.link?.version ?? 0);
  });

  test('a rejected operation stays rejected when the reason no longer exists', async () => {
    const operationId = randomUUID();
    await create(linkOf(1));
    await expect(create({ ...linkOf(1), gameId: 7002 }, operationId)).rejects.toMatchObject({ code: 'CONFLICT' });
    await removeByChat(chat(1));
    await expect(create({ ...linkOf(1), gameId: 7002 }, operationId)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await linksOf(chat(1))).toEqual([]);
  });

  test('12 concurrent links of one account create one link, for either account', async () => {
    const numbers = Array.from({ length: 12 }, (_, index) => index + 1);
    const sides = [
      numbers.map((number) => ({ ...linkOf(number), chatId: CHAT })),
      numbers.map((number) => ({ ...linkOf(20 + number), gameId: 6001 })),
    ];
    for (const links of sides) {
      const outcomes = await Promise.allSettled(links.map((link) => create(link)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const rejected = outcomes.filter((outcome) => outcome.status === 'rejected');
      expect(rejected.map(({ reason }) => (reason as ApiError).code)).toEqual(Array(11).fill('CONFLICT'));
    }
    const { links } = await client.listLinks({
      guildId,
      withUnlinked: false,
      updatedSince: 0,
      limit: 100,
      position: '',
    });
    expect(links).toHaveLength(2);
  });

  test('12 concurrent repeats of one operation have one outcome and one history entry', async () => {
    const operationId = randomUUID();
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => create(linkOf(1), operationId)));
    expect(new Set(outcomes.map(({ link }) => link?.version)).size).toBe(1);
    expect((await client.listHistory({ guildId, chatId: chat(1), limit: 100 })).changes).toHaveLength(1);
  });

  test('the same accounts can be linked in several guilds', async () => {
    await create(linkOf(1));
    const elsewhere = { ...linkOf(1), guildId: '919999999999999999', operationId: randomUUID() };
    await expect(client.createLink(elsewhere)).resolves.toBeDefined();
    await expect(client.createLink({ ...elsewhere, operationId: randomUUID() })).rejects.toBeDefined();
  });
});

describe('DeleteLink', () => {
  test('removes a link by either account and returns it', async () => {
    const { link } = await create(linkOf(1));
    expect(await removeByChat(chat(1))).toEqual({ link });
    const { link: second } = await create(linkOf(1));
    const account = { $case: 'gameId' as const, value: 7001 };
    expect(await client.deleteLink({ guildId, operationId: randomUUID(), account })).toEqual({ link: second });
    await expect(removeByChat(chat(1))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('a repeated operation has its first outcome and does not remove a newer link', async () => {
    const operationId = randomUUID();
    const { link } = await create(linkOf(1));
    expect(await removeByChat(chat(1), operationId)).toEqual({ link });
    await create(linkOf(1));
    expect(await removeByChat(chat(1), operationId)).toEqual({ link });
    expect(await linksOf(chat(1))).toHaveLength(1);
  });

  test('an operation that found no link finds none when repeated later', async () => {
    const operationId = randomUUID();
    await expect(removeByChat(chat(1), operationId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await create(linkOf(1));
    await expect(removeByChat(chat(1), operationId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await linksOf(chat(1))).toHaveLength(1);
  });

  test('a repeated operation has its first outcome from the history after its own row was deleted', async () => {
    const [linking, unlinking] = [randomUUID(), randomUUID()];
    const pool = await openPool();
    const { link } = await create(linkOf(1), linking);
    await removeByChat(chat(1), unlinking);
    const deleteOperations = () => pool.query('DELETE FROM lookup.operations WHERE guild_id = $1', [guildId]);
    await deleteOperations();
    expect(await create(linkOf(1), linking)).toEqual({ link });
    expect(await linksOf(chat(1))).toEqual([]);
    await create(linkOf(1));
    await deleteOperations();
    expect(await removeByChat(chat(1), unlinking)).toEqual({ link });
    expect(await create(linkOf(1), linking)).toEqual({ link });
    expect(await linksOf(chat(1))).toHaveLength(1);
  });
});

describe('GetLinks and ListHistory', () => {
  test('links are found by either account, each once', async () => {
    await create(linkOf(1));
    await create(linkOf(2));
    const { links } = await client.getLinks({ guildId, chatIds: [chat(1), chat(5)], gameIds: [7001, 7002, 9] });
    expect(links.map(({ chatId }) => chatId).sort()).toEqual([chat(1), chat(2)]);
    expect((await client.getLinks({ guildId, chatIds: [], gameIds: [] })).links).toEqual([]);
  });

  test('the changes of an account are listed newest first, with its current link', async () => {
    await create(linkOf(1));
    await removeByChat(chat(1));
    const { link } = await create({ ...linkOf(1), gameId: 8001 });
    const history = await client.listHistory({ guildId, chatId: chat(1), limit: 2 });
    expect(history.link).toEqual(link);
    expect(history.changes.map(({ action, gameId }) => [action, gameId])).toEqual([
      ['linked', 8001],
      ['unlinked', 7001],
    ]);
    expect(Math.abs((history.changes[0]?.createdAt ?? 0) - Date.now() / 1000)).toBeLessThan(5);
    await removeByChat(chat(1));
    const after = await client.listHistory({ guildId, chatId: chat(1), limit: 100 });
    expect(after.link).toBeUndefined();
    expect(after.changes).toHaveLength(4);
    expect(await client.listHistory({ guildId, chatId: chat(9), limit: 1 })).toEqual({ changes: [] });
  });
});

test('every field of a message is checked, and all faults are listed', async () => {
  const bad = { guildId: '1', operationId: 'x', chatId: '', gameId: -1, gameUsername: '' };
  expect(await faultsOf(client.createLink(bad))).toEqual(
    ['guildId', 'operationId', 'chatId', 'gameId', 'gameUsername'].map((field) => `request.${field}`),
  );
  expect(await faultsOf(client.deleteLink({ guildId: GUILD, operationId: randomUUID() }))).toEqual(['request.account']);
  const users = { chatIds: Array(1001).fill(CHAT), gameIds: [0] };
  expect(await faultsOf(client.getLinks({ guildId: GUILD, ...users }))).toEqual([
    'request.chatIds',
    'request.gameIds[0]',
  ]);
  const page = { guildId: GUILD, withUnlinked: false, updatedSince: -1, limit: 101, position: 'x'.repeat(65) };
  expect(await faultsOf(client.listLinks(page))).toEqual(
    ['updatedSince', 'limit', 'position'].map((field) => `request.${field}`),
  );
  expect(await faultsOf(client.listHistory({ guildId: GUILD, chatId: CHAT, limit: 0 }))).toEqual(['request.limit']);
});

/** The paths of the faults for which a call is rejected. */
async function faultsOf(call: Promise<unknown>): Promise<string[]> {
  const error = (await call.catch((thrown: unknown) => thrown)) as ApiError;
  expect(error.code).toBe('INVALID_REQUEST');
  return (error.details as { errors: { path: string }[] }).errors.map(({ path }) => path);
}

const pools: Database[] = [];

async function openPool(): Promise<Database> {
  const pool = await openTestPool(database.url);
  pools.push(pool);
  return pool;
}

afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close();
});
