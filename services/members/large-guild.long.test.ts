import { afterAll, beforeAll, expect, test } from 'vitest';
import { World } from '#local/simulators/world.ts';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure, round } from '#test/measure/figures.ts';
import { GUILD } from './fixture.ts';
import { chatIdOf, crew, DECK, GROUP } from './fixtures/crew.ts';
import { JobsFixture } from './fixtures/jobs.ts';

const MEMBERS = amount(3_000, 100_000);
const REPEATS = 20;
const BOUND_MS = 200;

const fixture = new JobsFixture();
/** The middle of the list, of which no page is cached at first. */
const middle = Math.floor(MEMBERS / 2);

beforeAll(async () => {
  const world = crew(MEMBERS);
  for (const [index, member] of (world.chat.guilds[0]?.members ?? []).entries()) {
    if (index % 10 === 0) member.roles.push(DECK);
  }
  await fixture.start({ world: new World(world) });
  await fixture.query(
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     SELECT $1, (920000000000000000 + n)::text, n, 'User' || n, n, now(), now()
     FROM generate_series(1, $2::int) n WHERE n % 2 = 0`,
    [GUILD, MEMBERS],
  );
  await fixture.query('ANALYZE lookup.links');
}, 300_000);
afterAll(() => fixture.stop());

/** Sends a request repeatedly and returns the longest time in milliseconds; with `expires`, each time with expired caches. */
async function slowest(path: string, expires: boolean): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < REPEATS; count++) {
    if (expires) fixture.clock.advance(11_000);
    const started = performance.now();
    const { status } = await fixture.get(`/guilds/${GUILD}${path}`);
    times.push(performance.now() - started);
    if (status !== 200) throw new Error(`status ${status}`);
  }
  return Math.max(...times);
}

const filters = ['', `&role_id=${DECK}`, '&verified=true', '&verified=false', `&role_id=${DECK}&verified=true`];

test.each(filters)(
  `a page of ${MEMBERS} members arrives within ${BOUND_MS} ms with the filter '%s'`,
  async (filter) => {
    const path = `/members?limit=100${filter}`;
    const { next_cursor: cursor } = (await fixture.get(`/guilds/${GUILD}${path}`)).body.data;
    expect(cursor).toEqual(expect.any(String));
    for (const [what, at] of [
      ['first', path],
      ['second', `${path}&cursor=${cursor}`],
    ] as const) {
      withinBound(`the ${what} page of members${filter}, not cached`, await slowest(at, true), BOUND_MS);
      withinBound(`the ${what} page of members${filter}, cached`, await slowest(at, false), BOUND_MS);
    }
  },
);

test(`a search among ${MEMBERS} members by ID or name arrives within ${BOUND_MS} ms`, async () => {
  const queries = {
    'chat ID': chatIdOf(middle),
    'game ID': `${middle}`,
    'name in the chat': `user${middle}`,
    'name in the game': `User${middle}`,
  };
  for (const [what, query] of Object.entries(queries)) {
    const { people } = (await fixture.get(`/guilds/${GUILD}/people?query=${query}`)).body.data;
    expect(people).toContainEqual(expect.objectContaining({ game_id: middle }));
    withinBound(`a search by ${what}`, await slowest(`/people?query=${query}`, true), BOUND_MS);
  }
});

test(`a preview evaluates ${MEMBERS / 2} verified members`, { timeout: 600_000 }, async () => {
  const body = { guild_id: GUILD, chat_role_id: DECK, binding_type: 'group_rank', game_group_id: GROUP };
  const started = performance.now();
  const { body: response } = await fixture.post('/bindings/preview', { ...body, min_rank: 10, max_rank: 255 });
  const job = await fixture.finished(response.data.job_id);
  const milliseconds = performance.now() - started;
  printFigure(`a preview of ${MEMBERS / 2} verified members`, `${round(milliseconds)} ms`);
  expect(job).toMatchObject({ state: 'done', total: MEMBERS / 2 });
  // Every tenth member has the role, and every second one is verified: no member with an odd index is both.
  expect(job['result']).toMatchObject({ roles: [{ role_id: DECK, gained: MEMBERS / 2, lost: 0, unknown: 0 }] });
});
