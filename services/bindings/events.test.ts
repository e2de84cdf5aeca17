import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { failWrites } from '#test/postgres/failing-table.ts';
import { recordedEvents } from '#test/postgres/recorded-events.ts';
import { TEST_SOURCE } from '#test/system/signed-calls.ts';
import { BindingsFixture, DECKHAND, rankBinding } from './fixture.ts';

const fixture = new BindingsFixture();
beforeAll(() => fixture.start());
beforeEach(() => fixture.nextGuild());
afterEach(() => fixture.calm());
afterAll(() => fixture.stop());

const events = () => recordedEvents(fixture.database.url, 'bindings', fixture.guild);
const types = async () => (await events()).map(({ type }) => type);
const listed = async () => (await fixture.list()).body.data.bindings;

test('each change is an event with the binding as the list returns it, by the key of the request', async () => {
  const { id } = await fixture.added(rankBinding());
  const [added] = await listed();
  await fixture.update({ binding_id: id, min_rank: 100, priority: 5 });
  const [updated] = await listed();
  await fixture.remove(id);
  const event = { source: TEST_SOURCE, persons: [] };
  expect(await events()).toEqual([
    { number: 1, type: 'binding.created', ...event, data: added },
    { number: 2, type: 'binding.updated', ...event, data: updated },
    { number: 3, type: 'binding.removed', ...event, data: updated },
  ]);
  expect(updated).toMatchObject({ id, chat_role_name: 'Officer', game_group_name: 'Harbor Crew', min_rank: 100 });
});

test('a binding whose names no platform returns is removed, and reported without them', async () => {
  const { id } = await fixture.added(rankBinding());
  await fixture.query('UPDATE bindings.bindings SET game_group_id = 599 WHERE guild_id = $1', [fixture.guild]);
  await fixture.game.fault('/groups/599', { status: 500 });
  expect((await fixture.remove(id)).status).toBe(200);
  expect((await events()).at(-1)).toMatchObject({ type: 'binding.removed', data: { game_group_name: null } });
});

test('repeats with the same Idempotency-Key, rejected changes and changes of nothing record nothing', async () => {
  const { id } = (await fixture.add(rankBinding(), { key: 'add' })).body.data;
  expect((await fixture.add(rankBinding(), { key: 'add' })).status).toBe(201);
  expect((await fixture.add(rankBinding())).status).toBe(409);
  expect((await fixture.update({ binding_id: id, min_rank: 50, max_rank: 255 })).status).toBe(200);
  expect((await fixture.update({ binding_id: id, priority: 3 }, { key: 'update' })).status).toBe(200);
  expect((await fixture.update({ binding_id: id, priority: 3 }, { key: 'update' })).status).toBe(200);
  expect((await fixture.update({ binding_id: id, max_rank: 10 })).status).toBe(400);
  expect((await fixture.remove(id, { key: 'remove' })).status).toBe(200);
  expect((await fixture.remove(id, { key: 'remove' })).status).toBe(200);
  expect((await fixture.remove(id)).status).toBe(404);
  expect(await types()).toEqual(['binding.created', 'binding.updated', 'binding.removed']);
});

describe.each([
  ['bindings.events', 'statement'],
  ['bindings.bindings', 'commit'],
] as const)('while writes to %s fail with the %s', (table, when) => {
  test.each(['key', undefined])('no change is saved and no event is recorded (Idempotency-Key: %s)', async (key) => {
    const { id } = await fixture.added(rankBinding());
    const before = await listed();
    const repair = await failWrites(fixture.database.url, table, fixture.guild, when);
    const request = key === undefined ? {} : { key };
    expect((await fixture.add(rankBinding({ chat_role_id: DECKHAND }), request)).status).toBe(500);
    expect((await fixture.update({ binding_id: id, priority: 1 }, request)).status).toBe(500);
    expect((await fixture.remove(id, request)).status).toBe(500);
    await repair();
    expect(await listed()).toEqual(before);
    expect(await types()).toEqual(['binding.created']);
    await fixture.remove(id);
    expect(await types()).toEqual(['binding.created', 'binding.removed']);
  });
});

test('concurrent writers of one guild number their events without gaps', async () => {
  const added = await Promise.all(
    Array.from({ length: 12 }, (_, index) => fixture.added(rankBinding({ min_rank: index + 1 }))),
  );
  await Promise.all(added.map(({ id }) => fixture.remove(id)));
  expect((await types()).toSorted()).toEqual([
    ...added.map(() => 'binding.created'),
    ...added.map(() => 'binding.removed'),
  ]);
});
