import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openTestPool } from '#test/postgres/database.ts';
import { failWrites } from '#test/postgres/failing-table.ts';
import { recordedEvents } from '#test/postgres/recorded-events.ts';
import { RESULT_SOURCE, TEST_SOURCE } from '#test/system/signed-calls.ts';
import { GUILD } from './fixture.ts';
import { chatIdOf, DECK, OTHER } from './fixtures/crew.ts';
import { JobsFixture } from './fixtures/jobs.ts';

const KEY: object = TEST_SOURCE;
const RESULT: object = RESULT_SOURCE;
const ADA = chatIdOf(1);

const fixture = new JobsFixture();
beforeAll(() => fixture.start());
beforeEach(async () => {
  await fixture.settle(1);
  await fixture.bindRank(DECK, { min: 10 });
});
afterEach(async () => {
  await fixture.calm();
  await fixture.query('TRUNCATE members.events, members.event_counters, members.role_changes');
});
afterAll(() => fixture.stop());

const begun = () => fixture.query('SELECT added, removed FROM members.role_changes');
const rolesOfAda = async () => (await fixture.roles()).get(ADA);
const sync = (request: object = {}) => fixture.post('/sync/roles', { guild_id: GUILD, chat_id: ADA }, request);
async function reported() {
  const events = await recordedEvents(fixture.database.url, 'members', GUILD);
  return events
    .filter(({ type }) => type === 'roles.changed')
    .map(({ source, data: { chat_id, added, removed } }) => ({ source, chat_id, added, removed }));
}
const change = (added: string[], removed: string[] = [], source = KEY) => [{ source, chat_id: ADA, added, removed }];

/** Leaves Ada as a process that died after it had changed her roles, and before it reported that. */
async function diesAfterChange(): Promise<void> {
  const repair = await failWrites(fixture.database.url, 'members.events', GUILD, 'statement');
  expect((await sync()).status).toBe(500);
  await repair();
  expect(await rolesOfAda()).toEqual([DECK]);
  expect(await begun()).toEqual([{ added: [DECK], removed: [] }]);
  expect(await reported()).toEqual([]);
}

/** Leaves a member as a process that died before it called the chat platform to assign a role. */
const leaveBegun = (chatId: string) =>
  fixture.query(
    `INSERT INTO members.role_changes (guild_id, chat_id, added, removed, source, run_at)
     VALUES ($1, $2, $3, '{}', $4, clock_timestamp())`,
    [GUILD, chatId, [DECK], KEY],
  );

test('kill -9 after a role was changed: a worker of another process reports the change', async () => {
  const { kill, at } = await fixture.startMembersProcess();
  const pool = await openTestPool(fixture.database.url);
  await pool.transaction(async (transaction) => {
    await transaction.query('LOCK TABLE members.events IN ACCESS EXCLUSIVE MODE');
    const response = sync({ at }).catch(() => 'no response');
    await expect.poll(rolesOfAda).toEqual([DECK]);
    await kill();
    expect(await response).toBe('no response');
  });
  await pool.close();
  await expect
    .poll(async () => {
      await fixture.advance(5_000);
      return reported();
    })
    .toEqual(change([DECK]));
  expect(await begun()).toEqual([]);
}, 60_000);

test('the repeated request reports a change that an earlier one made, once', async () => {
  await diesAfterChange();
  expect((await sync()).body.data).toMatchObject({ added: [], unchanged: [DECK] });
  expect(await reported()).toEqual(change([DECK]));
  await sync();
  await fixture.advance(60_000);
  expect(await reported()).toEqual(change([DECK]));
  expect(await begun()).toEqual([]);
});

test('a job reports a change that was made before, although the roles are right', async () => {
  await diesAfterChange();
  expect(await fixture.run()).toMatchObject({ state: 'done', changed: 0 });
  expect(await reported()).toEqual(change([DECK], [], RESULT));
});

test('an unlink reports the change before it with its own, and a role in both only as removed', async () => {
  await diesAfterChange();
  await fixture.unlink({ chat_id: ADA });
  expect(await rolesOfAda()).toEqual([]);
  expect(await reported()).toEqual(change([], [DECK], RESULT));
});

test('a later sync reports the changes of an earlier one together with its own', async () => {
  await diesAfterChange();
  await fixture.bindRank(OTHER, { min: 10 });
  expect((await sync()).body.data.added).toEqual([OTHER]);
  expect(await reported()).toEqual(change([DECK, OTHER]));
});

test('changes that were begun and not made are made by a worker, and reported once', async () => {
  await leaveBegun(ADA);
  await expect.poll(begun).toEqual([]);
  expect(await rolesOfAda()).toEqual([DECK]);
  expect(await reported()).toEqual(change([DECK]));
});

test('changes that were begun, not made and are not wanted any more are forgotten', async () => {
  await fixture.query('DELETE FROM bindings.bindings');
  await leaveBegun(ADA);
  await expect.poll(begun).toEqual([]);
  expect(await reported()).toEqual([]);
});

test('changes of a member who has left the guild are forgotten', async () => {
  await leaveBegun('920000000000099999');
  await expect.poll(begun).toEqual([]);
  expect(await reported()).toEqual([]);
});
