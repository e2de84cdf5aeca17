import { afterAll, beforeAll, expect, test } from 'vitest';
import { inParallel } from '#kit/resilience/parallel.ts';
import { Browser, ConsoleFixture, GUILD } from './fixture.ts';

let system: ConsoleFixture;

beforeAll(async () => {
  system = await ConsoleFixture.start({ environment: { TRUSTED_PROXIES: '127.0.0.1' } });
});
afterAll(() => system.stop());

const usage = (browser: Browser) => browser.api(`/guilds/${GUILD}/usage`);

test("a person's flood gets 429, and leaves other persons and the guild's keys untouched", async () => {
  const [flooding, other] = [await system.signIn(), await system.signIn('viewer')];
  const statuses = new Set<number>();
  for (let round = 0; round < 30; round++) {
    const responses = await Promise.all(Array.from({ length: 8 }, () => usage(flooding)));
    for (const { status } of responses) statuses.add(status);
  }
  expect(statuses).toContain(429);
  expect([...statuses].every((status) => [200, 429, 503].includes(status))).toBe(true);
  const calm = await usage(other);
  expect([calm.status, calm.headers['x-ratelimit-remaining']]).toEqual([200, '99']);
  const key = await system.network.createKey();
  const call = await system.network.call(`/guilds/${GUILD}/usage`, { key: key.secret });
  expect([call.status, call.headers.get('x-ratelimit-remaining')]).toEqual([200, '99']);
});

test('a person has at most 8 requests in flight', async () => {
  const [person, other] = [await system.signIn(), await system.signIn()];
  await usage(person);
  const [responses, calm] = await Promise.all([
    Promise.all(Array.from({ length: 60 }, () => usage(person))),
    usage(other),
  ]);
  expect(responses.map(({ status }) => status)).toContain(503);
  expect(calm.status).toBe(200);
});

test('an address gets 20 attempts to use a link in a minute, other addresses are not affected', async () => {
  const attempt = (address: string) =>
    new Browser(system.url).send('/console/sign-in/link', {
      method: 'POST',
      body: { token: 'unknown' },
      headers: { 'x-forwarded-for': address },
    });
  // Twice the limit and more, because a new minute may begin in between.
  const responses = await inParallel(Array.from({ length: 42 }), 4, () => attempt('198.51.100.1'));
  const limited = responses.filter((response) => response?.status === 429);
  expect(limited.length).toBeGreaterThanOrEqual(2);
  expect(limited[0]?.json.details).toMatchObject({ category: 'sign_in', limit: 20 });
  expect((await attempt('198.51.100.2')).status).toBe(404);
});

test('a person creates at most 10 keys in a minute, whichever of them auth accepts', async () => {
  const person = await system.signIn();
  const create = () =>
    person.send(`/console/guilds/${GUILD}/keys`, { method: 'POST', body: { name: 'k', scopes: ['lookup:read'] } });
  // Twice the limit and more, because a new minute may begin in between.
  const statuses: number[] = [];
  for (let count = 0; count < 22; count++) statuses.push((await create()).status);
  expect(statuses).toContain(429);
});

test('unknown session tokens from one address get 429 without a call of auth, known sessions go on', async () => {
  const person = await system.signIn();
  await usage(person);
  const statuses = new Set<number>();
  for (let round = 0; round < 20; round++) {
    const guesses = Array.from(
      { length: 8 },
      () => new Browser(system.url, `${Math.random()}`.slice(2).padEnd(43, 'x')),
    );
    for (const { status } of await Promise.all(guesses.map(usage))) statuses.add(status);
  }
  expect(statuses).toContain(429);
  expect((await usage(person)).status).toBe(200);
});
