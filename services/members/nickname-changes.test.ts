import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openTestPool } from '#test/postgres/database.ts';
import { failWrites } from '#test/postgres/failing-table.ts';
import { recordedEvents } from '#test/postgres/recorded-events.ts';
import { TEST_SOURCE } from '#test/system/signed-calls.ts';
import { GUILD } from './fixture.ts';
import { type CrewWorld, chatIdOf } from './fixtures/crew.ts';
import { JobsFixture } from './fixtures/jobs.ts';

const KEY = TEST_SOURCE;
const ADA = chatIdOf(1);

const fixture = new JobsFixture();
beforeAll(() => fixture.start());
beforeEach(() => fixture.settle(1));
afterEach(async () => {
  await fixture.calm();
  await fixture.query('TRUNCATE members.events, members.event_counters, members.nickname_changes');
});
afterAll(() => fixture.stop());

const begun = () => fixture.query('SELECT old_nickname, new_nickname FROM members.nickname_changes');
const sync = (nickname: string | null, request: object = {}) =>
  fixture.post('/sync/nickname', { guild_id: GUILD, chat_id: ADA, nickname }, request);
async function nicknameOfAda(): Promise<string | null | undefined> {
  const world = (await (await fetch(`${fixture.chat.url}/__world`)).json()) as CrewWorld;
  return world.chat.guilds[0]?.members[0]?.nick;
}
async function reported() {
  const events = await recordedEvents(fixture.database.url, 'members', GUILD);
  return events.map(({ source, data: { from, to } }) => ({ source, from, to }));
}

/** Leaves Ada as a process that died after it had changed her nickname, and before it reported that. */
async function diesAfterChange(): Promise<void> {
  const before = await reported();
  const repair = await failWrites(fixture.database.url, 'members.events', GUILD, 'statement');
  expect((await sync('Ada')).status).toBe(500);
  await repair();
  expect(await nicknameOfAda()).toBe('Ada');
  expect(await begun()).toEqual([{ old_nickname: null, new_nickname: 'Ada' }]);
  expect(await reported()).toEqual(before);
}

test('kill -9 after a nickname was changed: a worker of another process reports the change', async () => {
  const { kill, at } = await fixture.startMembersProcess();
  const pool = await openTestPool(fixture.database.url);
  await pool.transaction(async (transaction) => {
    await transaction.query('LOCK TABLE members.events IN ACCESS EXCLUSIVE MODE');
    const response = sync('Ada', { at }).catch(() => 'no response');
    await expect.poll(nicknameOfAda).toBe('Ada');
    await kill();
    expect(await response).toBe('no response');
  });
  await pool.close();
  await expect
    .poll(async () => {
      await fixture.advance(5_000);
      return reported();
    })
    .toEqual([{ source: KEY, from: null, to: 'Ada' }]);
  expect(await begun()).toEqual([]);
}, 60_000);

test('the repeated request reports a change that an earlier one made, once', async () => {
  await diesAfterChange();
  expect((await sync('Ada')).body.data).toEqual({ chat_id: ADA, from: 'Ada', to: 'Ada' });
  await sync('Ada');
  await fixture.advance(60_000);
  expect(await reported()).toEqual([{ source: KEY, from: null, to: 'Ada' }]);
  expect(await begun()).toEqual([]);
});

test('the next change reports an unreported one with its own, and nothing if the first nickname is back', async () => {
  await diesAfterChange();
  expect((await sync('Captain Ada')).body.data).toEqual({ chat_id: ADA, from: 'Ada', to: 'Captain Ada' });
  expect(await reported()).toEqual([{ source: KEY, from: null, to: 'Captain Ada' }]);
  await sync(null);
  await diesAfterChange();
  await sync(null);
  expect((await reported()).slice(2)).toEqual([]);
});

test('a change that was begun and not made is forgotten', async () => {
  await fixture.query(
    `INSERT INTO members.nickname_changes (guild_id, chat_id, old_nickname, new_nickname, source, run_at)
     VALUES ($1, $2, NULL, 'Ada', $3, clock_timestamp())`,
    [GUILD, ADA, KEY],
  );
  await expect
    .poll(async () => {
      await fixture.advance(5_000);
      return begun();
    })
    .toEqual([]);
  expect(await reported()).toEqual([]);
});
