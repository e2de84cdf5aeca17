import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { GUILD } from './fixture.ts';
import { chatIdOf, crew, DECK, GROUP, OTHER } from './fixtures/crew.ts';
import { JobsFixture, until } from './fixtures/jobs.ts';

const RENAME = 'PATCH /api/v10/guilds/:guild/members/:user';
const LIST = 'GET /api/v10/guilds/:guild/members';
const MEMBERSHIPS = 'GET /cloud/v2/groups/:group/memberships';

const fixture = new JobsFixture();
beforeAll(() => fixture.start());
afterEach(async () => {
  await fixture.calm();
  await fixture.query('DELETE FROM members.guild_settings');
});
afterAll(() => fixture.stop());

const setTemplate = (nickname_template: string) => fixture.patch(`/guilds/${GUILD}/settings`, { nickname_template });

/** Returns the nicknames in the guild, in the order of the members. */
async function nicknames(): Promise<(string | null)[]> {
  const world = (await (await fetch(`${fixture.chat.url}/__world`)).json()) as ReturnType<typeof crew>;
  return world.chat.guilds.flatMap(({ members }) => members.map(({ nick }) => nick));
}

/** Changes the nickname of a member as a person does. */
async function rename(member: number, nick: string): Promise<void> {
  const headers = { authorization: 'Bot token', 'content-type': 'application/json' };
  const url = `${fixture.chat.url}/api/v10/guilds/${GUILD}/members/${chatIdOf(member)}`;
  const { status } = await fetch(url, { method: 'PATCH', headers, body: JSON.stringify({ nick }) });
  expect(status).toBe(200);
}

/** A world of three members: the first has the role already, the second nothing, the third the role and the nickname. */
function world() {
  const all = crew(3);
  const members = all.chat.guilds[0]?.members as { nick: string | null; roles: string[] }[];
  members[0]?.roles.push(DECK);
  members[2]?.roles.push(DECK);
  Object.assign(members[2] as object, { nick: '[Deckhand] User3' });
  return all;
}

test('a job sets the nicknames with the roles, reads all ranks with one call, and writes only what differs', async () => {
  await fixture.settle(world());
  await fixture.bindRank(DECK, { min: 10 });
  await setTemplate('[{rank_name}] {game_username}');
  expect(await fixture.run()).toMatchObject({ state: 'done', done: 3, changed: 2, failed: 0, errors: [] });
  expect(await nicknames()).toEqual(['[Deckhand] User1', '[Deckhand] User2', '[Deckhand] User3']);
  expect((await fixture.chat.calls())[RENAME]).toBe(2);
  // One for the bindings, and one for the names of the ranks.
  expect((await fixture.game.calls())[MEMBERSHIPS]).toBe(2);
  await fixture.forget();
  await fixture.advance(60_000);
  expect(await fixture.run()).toMatchObject({ state: 'done', done: 3, changed: 0, failed: 0 });
  expect((await fixture.chat.calls())[RENAME]).toBeUndefined();
});

test('a nickname that was changed by hand since the job listed the members is what the job changes', async () => {
  const all = world();
  Object.assign(all.chat.guilds[0]?.members[2] as object, { nick: null });
  await fixture.settle(all);
  await fixture.bindRank(DECK, { min: 10 });
  await setTemplate('{game_username}');
  await fixture.query(`DELETE FROM members.events`);
  // The members are listed before their ranks are read.
  await fixture.game.fault('/memberships', { delay_ms: 3_000, times: 1 });
  const id = await fixture.newJob();
  await until(async () => ((await fixture.chat.calls())[LIST] ?? 0) > 0);
  await rename(1, 'User1');
  await rename(2, 'By hand');
  await rename(3, 'By hand');
  expect(await fixture.finished(id)).toMatchObject({ state: 'done', done: 3, changed: 2, failed: 0 });
  expect(await nicknames()).toEqual(['User1', 'User2', 'User3']);
  const changes = await fixture.query(
    `SELECT data FROM members.events WHERE type = 'nickname.changed' ORDER BY number`,
  );
  expect(changes.map(({ data }) => data)).toEqual([
    { chat_id: chatIdOf(2), from: 'By hand', to: 'User2' },
    { chat_id: chatIdOf(3), from: 'By hand', to: 'User3' },
  ]);
});

test('a job of one group uses the template of the first binding of the guild that matches', async () => {
  await fixture.settle(crew(1));
  await fixture.bindRank(DECK, { min: 10 });
  await fixture.query(`UPDATE bindings.bindings SET member_template = 'second'`);
  await fixture.bindRank(OTHER, { min: 0, max: 0, groupId: 777 });
  await fixture.query(
    `UPDATE bindings.bindings SET member_template = 'first', priority = 1 WHERE game_group_id <> ${GROUP}`,
  );
  expect(await fixture.run()).toMatchObject({ state: 'done', changed: 1 });
  expect(await nicknames()).toEqual(['first']);
  // The role of that binding belongs to the jobs of another group.
  expect(await fixture.roles()).toEqual(new Map([[chatIdOf(1), [DECK]]]));
});

test('a nickname that the bot cannot set is no failure of the job', async () => {
  const all = world();
  Object.assign(all.chat.guilds[0] as object, { owner_id: chatIdOf(1) });
  await fixture.settle(all);
  await fixture.bindRank(DECK, { min: 10 });
  await setTemplate('{game_username}');
  await fixture.advance(60_000);
  expect(await fixture.run()).toMatchObject({ state: 'done', done: 3, changed: 2, failed: 0, errors: [] });
  expect(await nicknames()).toEqual([null, 'User2', 'User3']);
});

test('a job pauses while the chat platform cannot set a nickname, and continues at that member', async () => {
  const all = world();
  all.chat.guilds[0]?.members[1]?.roles.push(DECK);
  await fixture.settle(all);
  await fixture.bindRank(DECK, { min: 10 });
  await setTemplate('{game_username}');
  await fixture.chat.fault(`/members/${chatIdOf(2)}`, { status: 503 });
  const id = await fixture.newJob();
  expect(await fixture.paused(id)).toMatchObject({ done: 1 });
  await fixture.forget();
  await fixture.advance(60_000);
  expect(await fixture.finished(id)).toMatchObject({ state: 'done', done: 3, changed: 3, failed: 0 });
  expect(await nicknames()).toEqual(['User1', 'User2', 'User3']);
});
