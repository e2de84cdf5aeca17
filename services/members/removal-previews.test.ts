import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { GUILD } from './fixture.ts';
import { chatIdOf, crew, DECK } from './fixtures/crew.ts';
import { JobsFixture } from './fixtures/jobs.ts';

const fixture = new JobsFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
afterEach(() => fixture.calm());

const preview = (fields: object) => fixture.post('/bindings/preview', { guild_id: GUILD, ...fields });
async function previewed(fields: object) {
  const response = await preview(fields);
  expect(response.status).toBe(202);
  return fixture.finished(response.body.data.job_id);
}
/** Returns the IDs of the bindings, oldest first. */
const bindingIds = async () =>
  (await fixture.query('SELECT id FROM bindings.bindings ORDER BY id')).map(({ id }) => Number(id));
const lostBy = (...numbers: number[]) => ({
  roles: [{ role_id: DECK, gained: 0, lost: numbers.length, unknown: 0 }],
  members: numbers.map((number) => ({
    chat_id: chatIdOf(number),
    username: `user${number}`,
    role_id: DECK,
    change: 'lost',
  })),
});

describe('POST /bindings/preview with remove', () => {
  test('the only binding of a role: those lose it who got it from a sync, as the next sync then does', async () => {
    const world = crew(3);
    world.chat.guilds[0]?.members[2]?.roles.push(DECK);
    await fixture.settle(world);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.run();
    // The list of members is cached.
    await fixture.advance(60_000);
    const [id] = await bindingIds();
    const before = await fixture.roles();
    expect(await previewed({ binding_id: id, remove: true })).toMatchObject({
      state: 'done',
      done: 3,
      changed: 2,
      result: lostBy(1, 2),
    });
    expect([await fixture.roles(), await bindingIds()]).toEqual([before, [id]]);
    await fixture.query('DELETE FROM bindings.bindings');
    for (const number of [1, 2, 3]) {
      await fixture.post('/sync/roles', { guild_id: GUILD, chat_id: chatIdOf(number) });
    }
    expect([...(await fixture.roles()).values()]).toEqual([[], [], [DECK]]);
  });

  test('one of two bindings of a role: those lose it who match no other one', async () => {
    const world = crew(3);
    Object.assign(world.game.users[1]?.groups[0] ?? {}, { ranks: [200] });
    world.game.groups[0]?.roles.push({ id: 50200, name: 'Captain', rank: 200 });
    await fixture.settle(world);
    await fixture.bindRank(DECK, { min: 1 });
    await fixture.bindRank(DECK, { min: 200 });
    await fixture.run();
    // The list of members is cached.
    await fixture.advance(60_000);
    const [id] = await bindingIds();
    expect(await previewed({ binding_id: id, remove: true })).toMatchObject({ result: lostBy(1, 3) });
  });

  test('a binding of a role that no longer exists can be removed, and nobody loses it', async () => {
    await fixture.settle(1);
    await fixture.bindRank('910000000000000077', { min: 1 });
    const [id] = await bindingIds();
    const roles = [{ role_id: '910000000000000077', gained: 0, lost: 0, unknown: 0 }];
    expect(await previewed({ binding_id: id, remove: true })).toMatchObject({ state: 'done', result: { roles } });
  });

  test('a binding that does not exist is not found', async () => {
    expect((await preview({ binding_id: 999, remove: true })).status).toBe(404);
  });

  test.each([
    { binding_id: 1, remove: false },
    { binding_id: 1, remove: true, min_rank: 5 },
    { chat_role_id: DECK, binding_type: 'verified', remove: true },
  ])('%o is rejected', async (fields) => {
    const response = await preview(fields);
    expect([response.status, response.body.details.errors[0].path]).toEqual([400, 'body.remove']);
  });
});
