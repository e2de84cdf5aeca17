import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { connect } from '#test/network/grpc.ts';
import { TEST_ADMIN_SECRETS } from '#test/system/signed-calls.ts';
import { GUILD, MembersFixture, newAccounts } from './fixture.ts';

const fixture = new MembersFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

/** Lookup responds with 500 to requests that link this account. Returns a function that ends this. */
async function breakAccount(chatId: string): Promise<() => Promise<unknown>> {
  const name = `break_${chatId}`;
  await fixture.query(`CREATE FUNCTION lookup.${name}() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN RAISE EXCEPTION ''broken''; END'`);
  await fixture.query(`CREATE TRIGGER ${name} BEFORE INSERT ON lookup.links
    FOR EACH ROW WHEN (NEW.chat_id = '${chatId}') EXECUTE FUNCTION lookup.${name}()`);
  return () => fixture.query(`DROP TRIGGER ${name} ON lookup.links`);
}

function queues() {
  const address = fixture.members.addresses.grpc ?? '';
  return connect(QueueAdminServiceService, 'members', address, fixture.clock, TEST_ADMIN_SECRETS);
}

const stateOf = async (chatId: string) =>
  (await fixture.query('SELECT state FROM members.intents WHERE chat_id = $1', [chatId]))[0]?.['state'];

/** Lets the account's intent become a dead letter; returns its ID. */
async function becomesDead(chatId: string): Promise<string> {
  await fixture.query('UPDATE members.intents SET failures = 11, due_at = clock_timestamp() WHERE chat_id = $1', [
    chatId,
  ]);
  await expect.poll(() => stateOf(chatId)).toBe('dead');
  const { client, close } = queues();
  const request = { queue: 'link-changes', guildId: GUILD, state: 'dead', limit: 100, position: '' };
  const { items } = await client.listQueueItems(request).finally(close);
  expect(items).toMatchObject([{ attempts: 12, lastError: expect.stringMatching(/^INTERNAL/) }]);
  return items[0]?.id ?? '';
}

test('a change for which lookup always fails is retried with backoff, and finally becomes a dead letter', async () => {
  const { chatId, gameId } = newAccounts();
  const repair = await breakAccount(chatId);
  expect((await fixture.link(chatId, gameId)).status).toBe(500);
  const due = async () =>
    (
      await fixture.query(
        'SELECT failures, due_at > clock_timestamp() AS later FROM members.intents WHERE chat_id = $1',
        [chatId],
      )
    )[0];
  // The request's own attempt does not count; later ones are those of workers.
  await expect
    .poll(async () => {
      await fixture.advance(10_000);
      return due();
    })
    .toMatchObject({ failures: 1 });
  await becomesDead(chatId);
  await fixture.advance(3_600_000);
  expect(await stateOf(chatId)).toBe('dead');
  await repair();
  // A new change of the account finishes the open intent first, so that it cannot undo a later change.
  expect((await fixture.link(chatId, gameId)).status).toBe(201);
  expect(await stateOf(chatId)).toBe('done');
});

test('an operator retries a dead letter', async () => {
  const { chatId, gameId } = newAccounts();
  const repair = await breakAccount(chatId);
  expect((await fixture.link(chatId, gameId)).status).toBe(500);
  const id = await becomesDead(chatId);
  await repair();
  const { client, close } = queues();
  await client.retryQueueItems({ queue: 'link-changes', guildId: GUILD, id }).finally(close);
  await expect.poll(() => stateOf(chatId)).toBe('done');
  expect(await fixture.linkOf(chatId)).toMatchObject({ gameId });
});

test('an operator skips a dead letter: its code works again, and a repeat of its request is a 409', async () => {
  const { chatId, gameId } = newAccounts();
  const { code } = await fixture.token(chatId);
  const repair = await breakAccount(chatId);
  expect((await fixture.redeem({ code }, gameId, { key: 'skipped' })).status).toBe(500);
  const id = await becomesDead(chatId);
  const { client, close } = queues();
  await client.skipQueueItem({ queue: 'link-changes', guildId: GUILD, id }).finally(close);
  await repair();
  expect(await stateOf(chatId)).toBe('skipped');
  const repeat = await fixture.redeem({ code }, gameId, { key: 'skipped' });
  expect(repeat).toMatchObject({ status: 409, body: { message: 'An operator has discarded this change' } });
  expect(await fixture.linkOf(chatId)).toBeUndefined();
  expect((await fixture.redeem({ code }, gameId)).status).toBe(200);
});
