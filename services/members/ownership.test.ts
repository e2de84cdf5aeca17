import { afterAll, beforeAll, expect, test } from 'vitest';
import { printFigure } from '#test/measure/figures.ts';
import { GUILD, portOf } from './fixture.ts';
import { chatIdOf, crew, DECK, GROUP } from './fixtures/crew.ts';
import { JobsFixture } from './fixtures/jobs.ts';

const INVENTORY = 'GET /cloud/v2/users/:user/inventory-items';
const PASS = 601;
const MEMBERS = 60;

const fixture = new JobsFixture();
beforeAll(async () => {
  await fixture.start();
  await fixture.query(
    `INSERT INTO bindings.bindings (guild_id, chat_role_id, type, gamepass_id, created_at, updated_at)
     VALUES ($1, $2, 'gamepass', $3, now(), now())`,
    [GUILD, DECK, PASS],
  );
});
afterAll(() => fixture.stop());

/** Users with even numbers have rank 200; all users own the pass. */
function world() {
  const made = crew(MEMBERS);
  const [group] = made.game.groups;
  group?.roles.push({ id: 50200, name: 'Captain', rank: 200 });
  for (const user of made.game.users) {
    if (user.id % 2 === 0) user.groups = [{ group_id: GROUP, ranks: [200] }];
    Object.assign(user, { gamepasses: [PASS] });
  }
  Object.assign(made.game, { gamepasses: [{ id: PASS, name: 'Pass' }] });
  return made;
}
const inventories = async () => (await fixture.game.calls())[INVENTORY] ?? 0;
const asksOf = (environment: Record<string, string>) =>
  fixture.startBindings({ ...environment, GRPC_PORT: String(portOf(fixture.bindings.addresses.grpc)) });

test('a job queries only the inventories of members whose rank does not decide', async () => {
  await fixture.bindRank(DECK, { min: 200 });
  await fixture.settle(world());
  await fixture.game.forget();
  expect(await fixture.run()).toMatchObject({ state: 'done', done: MEMBERS, changed: MEMBERS, failed: 0 });
  printFigure('inventory calls of a job, half of whose members have the rank', `${await inventories()} of ${MEMBERS}`);
  expect(await inventories()).toBe(MEMBERS / 2);
  // The next job uses the cached results of the first one.
  await fixture.settle(world());
  expect(await fixture.run()).toMatchObject({ state: 'done', changed: MEMBERS });
  expect(await inventories()).toBe(MEMBERS / 2);
}, 60_000);

test('a job leaves enough of the call budget for a request, so that no verdict is unknown', async () => {
  const grants = 20;
  await fixture.bindings.stop();
  fixture.bindings = await asksOf({ GAME_INVENTORIES_PER_MINUTE: String(grants), CHAT_PROCESSES: '1' });
  await fixture.settle(world());
  await fixture.game.forget();
  const id = await fixture.newJob();
  // The job uses the budget except for the part reserved for callers and background work.
  await expect.poll(inventories, { timeout: 30_000 }).toBe((grants * 4) / 5);
  const response = await fixture.post('/sync/roles', { guild_id: GUILD, chat_id: chatIdOf(MEMBERS - 1) });
  expect(response.body.data).toMatchObject({ added: [DECK], bindings: { evaluated: 2, matched: 1, unknown: 0 } });
  expect(await inventories()).toBe((grants * 4) / 5 + 1);
  expect((await fixture.job(id))['state']).toBe('running');
}, 60_000);
