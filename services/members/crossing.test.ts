import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { createTestDatabase } from '#test/postgres/database.ts';
import type { ServiceResponse } from '#test/system/signed-calls.ts';
import { GUILD, MembersFixture, newAccounts, portOf, statusesOf } from './fixture.ts';

const ABANDONED_MS = 10_000;

const fixture = new MembersFixture();
/** Between lookup and `distant`, a replica of members. */
let proxy: TcpProxy;
let distant: RunningService;

beforeAll(async () => {
  await fixture.start();
  proxy = await startTcpProxy(portOf(fixture.lookup.addresses.grpc));
  distant = await fixture.startMembers({ LOOKUP_GRPC_ADDRESS: `127.0.0.1:${proxy.port}` });
});
afterEach(() => proxy.cut());
afterAll(async () => {
  await distant.stop();
  await proxy.close();
  await fixture.stop();
});

const replayed = (response: ServiceResponse) => response.headers.get('idempotency-replayed');
const statusOf = async (token: string) => (await fixture.get(`/verification/tokens/${token}`)).body.data.status;

/** Inserts an intent as a replica leaves it that was killed before it called lookup. */
async function intend(change: Record<string, unknown>): Promise<string> {
  const row = { guild_id: GUILD, operation_id: randomUUID(), ...change };
  const now = await fixture.databaseNow();
  const times = { created_at: new Date(now), due_at: new Date(now + ABANDONED_MS) };
  const columns = Object.entries({ ...row, ...times });
  await fixture.query(
    `INSERT INTO members.intents (${columns.map(([name]) => name).join(', ')})
     VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})`,
    columns.map(([, value]) => value),
  );
  return row.operation_id;
}

/** Moves the clocks by ten seconds, and then on until the replicas have finished all open intents. */
async function finishAbandoned(): Promise<void> {
  await fixture.advance(ABANDONED_MS);
  const open = async () => {
    await fixture.advance(1_000);
    return fixture.openIntents();
  };
  await expect.poll(open, { interval: 100 }).toBe(0);
}

/** From now on lookup handles calls of the distant replica, but its responses are lost. */
async function dropResponses(): Promise<void> {
  await fixture.get(`/guilds/${GUILD}/verified`, { at: distant });
  proxy.dropResponses();
}

describe('a replica that is killed', () => {
  test('before it called lookup: another replica links, completes the token and stores the response', async () => {
    const { chatId, gameId } = newAccounts();
    const { token, code } = await fixture.token(chatId);
    await fixture.stopLookup();
    const interrupted = await fixture.redeem({ code }, gameId, { key: 'killed early' });
    expect(interrupted.status).toBe(503);
    expect(interrupted.headers.get('retry-after')).toBe('1');
    expect(await statusOf(token)).toBe('pending');
    await fixture.restartLookup();
    expect(await fixture.linkOf(chatId)).toBeUndefined();
    await finishAbandoned();
    expect(await fixture.linkOf(chatId)).toMatchObject({ gameId });
    expect(await statusOf(token)).toBe('completed');
    const repeat = await fixture.redeem({ code }, gameId, { key: 'killed early' });
    expect(replayed(repeat)).toBe('true');
    expect(repeat.body).toMatchObject({ code: 200, message: 'Account verified', data: { chat_id: chatId } });
  });

  test('after lookup made the change: a repeat gets the first response immediately, from another replica', async () => {
    const { chatId, gameId } = newAccounts();
    const { token, code } = await fixture.token(chatId);
    await dropResponses();
    expect((await fixture.redeem({ code }, gameId, { key: 'killed late', at: distant })).status).toBe(504);
    expect(await fixture.linkOf(chatId)).toMatchObject({ gameId });
    expect(await statusOf(token)).toBe('pending');
    const repeat = () => fixture.redeem({ code }, gameId, { key: 'killed late' });
    expect(await repeat()).toMatchObject({ status: 200, body: { data: { chat_id: chatId, game_id: gameId } } });
    expect(await statusOf(token)).toBe('completed');
    expect(replayed(await repeat())).toBe('true');
    const history = (await fixture.get(`/guilds/${GUILD}/links/${chatId}`)).body.data.history;
    expect(history).toHaveLength(1);
  });

  test('while its account was linked by another request: its token works again', async () => {
    const { chatId, gameId } = newAccounts();
    const { token } = await fixture.token(chatId);
    const [row] = await fixture.query('SELECT id FROM members.verification_tokens WHERE chat_id = $1', [chatId]);
    const change = { kind: 'redeem', chat_id: chatId, game_id: gameId, game_username: 'Player', token_id: row?.['id'] };
    const operationId = await intend(change);
    await fixture.query('UPDATE members.verification_tokens SET operation_id = $1 WHERE chat_id = $2', [
      operationId,
      chatId,
    ]);
    // Directly in lookup: members would finish the intent first.
    await fixture.linkPastMembers(newAccounts().chatId, gameId);
    await finishAbandoned();
    expect(await statusOf(token)).toBe('pending');
    expect((await fixture.redeem({ token }, newAccounts().gameId)).status).toBe(200);
  });

  test('during an unlink: another replica finishes it', async () => {
    const { chatId, gameId } = newAccounts();
    await fixture.link(chatId, gameId);
    await intend({ kind: 'unlink', game_id: gameId });
    await finishAbandoned();
    expect(await fixture.linkOf(chatId)).toBeUndefined();
  });

  test('with a hundred open changes: two replicas finish each one once', async () => {
    const accounts = Array.from({ length: 100 }, newAccounts);
    for (const { chatId, gameId } of accounts) {
      await intend({ kind: 'link', chat_id: chatId, game_id: gameId, game_username: 'Player' });
    }
    await finishAbandoned();
    const rows = await fixture.query(
      'SELECT chat_id, count(*)::int AS changes FROM lookup.link_history WHERE chat_id = ANY($1) GROUP BY chat_id',
      [accounts.map(({ chatId }) => chatId)],
    );
    expect(rows).toHaveLength(100);
    expect(rows.every(({ changes }) => changes === 1)).toBe(true);
  });
});

/** Makes a link, and leaves an unfinished unlink of it. */
async function unfinishedUnlink(): Promise<{ chatId: string; gameId: number }> {
  const { chatId, gameId } = newAccounts();
  await fixture.link(chatId, gameId);
  await intend({ kind: 'unlink', chat_id: chatId });
  return { chatId, gameId };
}

describe('a change that its client has given up', () => {
  test('is an unlink: it never removes a later link', async () => {
    const { chatId, gameId } = await unfinishedUnlink();
    // Without a key, right after the kill: the open unlink is finished first.
    expect((await fixture.link(chatId, gameId)).status).toBe(201);
    await finishAbandoned();
    expect(await fixture.linkOf(chatId)).toMatchObject({ gameId });
  });

  test('is a link: it never comes back after an unlink', async () => {
    const { chatId, gameId } = newAccounts();
    await intend({ kind: 'link', chat_id: chatId, game_id: gameId, game_username: 'Player' });
    expect((await fixture.unlink({ game_id: gameId })).status).toBe(200);
    await finishAbandoned();
    expect(await fixture.linkOf(chatId)).toBeUndefined();
  });

  test('has the same outcome when it is repeated without a key', async () => {
    const accounts = newAccounts();
    const { code } = await fixture.token(accounts.chatId);
    await dropResponses();
    expect((await fixture.redeem({ code }, accounts.gameId, { at: distant })).status).toBe(504);
    expect((await fixture.redeem({ code }, accounts.gameId)).status).toBe(200);
    expect((await fixture.redeem({ code }, accounts.gameId)).status).toBe(404);
    const { chatId } = await unfinishedUnlink();
    await fixture.advance(ABANDONED_MS);
    expect(statusesOf([await fixture.unlink({ chat_id: chatId })])).toEqual([200]);
  });

  test('has the same outcome when it is repeated with its key after a minute', async () => {
    const { chatId, gameId } = newAccounts();
    await fixture.stopLookup();
    expect((await fixture.link(chatId, gameId, { key: 'minute' })).status).toBe(503);
    await fixture.advance(60_000);
    await fixture.restartLookup();
    const repeat = () => fixture.link(chatId, gameId, { key: 'minute' });
    // 503 until members has connected to lookup again.
    const done = { status: 201, body: { data: { chat_id: chatId, game_id: gameId } } };
    await expect.poll(repeat).toMatchObject(done);
    expect(replayed(await fixture.link(chatId, gameId, { key: 'minute' }))).toBe('true');
  });

  test('has the same outcome when it is repeated with its key while another process finishes it', async () => {
    const { chatId, gameId } = newAccounts();
    const repeat = () => fixture.link(chatId, gameId, { key: 'meanwhile' });
    // 503 until members has connected to lookup again.
    await expect.poll(async () => (await repeat()).status).toBe(201);
    const { body } = await repeat();
    // As a repeat finds it that took the claim just before the first request was settled.
    await fixture.query(
      `UPDATE members.idempotency SET status = NULL, answer = NULL, claimed_until = $2,
         claim = (SELECT (claim->>'id')::uuid FROM members.intents WHERE guild_id = $3 AND chat_id = $1)
       WHERE guild_id = $3 AND key = 'meanwhile'`,
      [chatId, new Date(await fixture.databaseNow()), GUILD],
    );
    const again = await repeat();
    expect(again).toMatchObject({ status: 201, body });
    expect(replayed(again)).toBeNull();
    // The repeat has stored the response.
    expect(replayed(await repeat())).toBe('true');
  });
});

test('without lookup every route that needs it responds with 503 and Retry-After, and never 404', async () => {
  const { chatId, gameId } = newAccounts();
  const { token, code } = await fixture.token(chatId);
  await fixture.stopLookup();
  const responses = await Promise.all([
    fixture.redeem({ code }, gameId),
    fixture.link(newAccounts().chatId, newAccounts().gameId),
    fixture.unlink({ chat_id: newAccounts().chatId }),
    fixture.get(`/guilds/${GUILD}/verified`),
    fixture.get(`/guilds/${GUILD}/links/${chatId}`),
    // Members cannot know whether the account is linked already.
    fixture.post('/verification/tokens', { guild_id: GUILD, chat_id: newAccounts().chatId }),
  ]);
  // The unfinished redeem holds the code: another player gets no 404 for it.
  responses.push(await fixture.redeem({ code }, newAccounts().gameId));
  for (const response of responses) {
    expect(response).toMatchObject({ status: 503, body: { details: { code: 'UNAVAILABLE' } } });
    expect(response.headers.get('retry-after')).toBe('1');
  }
  expect(await statusOf(token)).toBe('pending');
  await fixture.restartLookup();
  await finishAbandoned();
});

test('when the database fails between lookup and the settling, the client gets 503 and the change is settled later', async () => {
  const { chatId, gameId } = newAccounts();
  await fixture.query(`CREATE FUNCTION members.fail() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'out of order' USING ERRCODE = '57P01'; END $$`);
  await fixture.query(`CREATE TRIGGER fail BEFORE UPDATE OF finished_at ON members.intents
    FOR EACH ROW EXECUTE FUNCTION members.fail()`);
  const response = await fixture.link(chatId, gameId, { key: 'unsettled' });
  expect(response).toMatchObject({ status: 503, body: { details: { code: 'UNAVAILABLE' } } });
  await fixture.query('DROP TRIGGER fail ON members.intents');
  await finishAbandoned();
  expect(replayed(await fixture.link(chatId, gameId, { key: 'unsettled' }))).toBe('true');
});

test('without its database members responds with 503 and Retry-After', async () => {
  const lost = await createTestDatabase();
  const members = await fixture.startMembers({ DATABASE_URL: lost.url });
  await lost.drop();
  const { chatId, gameId } = newAccounts();
  const responses = [
    await fixture.link(chatId, gameId, { at: members }),
    await fixture.link(chatId, gameId, { at: members, key: 'no database' }),
    await fixture.redeem({ code: 'AAAAAAAA' }, gameId, { at: members }),
    await fixture.unlink({ chat_id: chatId }, { at: members }),
    await fixture.post('/verification/tokens', { guild_id: GUILD, chat_id: chatId }, { at: members }),
    await fixture.get('/verification/tokens/x', { at: members }),
  ];
  for (const response of responses) {
    expect(response).toMatchObject({ status: 503, body: { details: { code: 'UNAVAILABLE' } } });
    expect(response.headers.get('retry-after')).toBe('1');
  }
  await members.stop();
});
