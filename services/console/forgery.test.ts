import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser, type BrowserRequest, ConsoleFixture, GUILD } from './fixture.ts';

let system: ConsoleFixture;
let owner: Browser;

beforeAll(async () => {
  system = await ConsoleFixture.start();
  owner = await system.signIn();
});
afterAll(() => system.stop());

/** A write to one of the console's own endpoints, and a write that is forwarded. */
const writes = (options: BrowserRequest) => [
  owner.send(`/console/guilds/${GUILD}/keys`, {
    method: 'POST',
    body: { name: 'k', scopes: ['lookup:read'] },
    ...options,
  }),
  owner.api(`/moderation/${GUILD}/game/ban`, { method: 'POST', body: { game_id: 7009, reason: 'x' }, ...options }),
];

test.each<[string, () => Promise<Record<string, string | undefined>>, string]>([
  ['without a CSRF token', async () => ({ 'x-csrf-token': undefined }), 'header.X-CSRF-Token'],
  ['with a wrong CSRF token', async () => ({ 'x-csrf-token': 'x'.repeat(43) }), 'header.X-CSRF-Token'],
  [
    "with another session's CSRF token",
    async () => ({ 'x-csrf-token': (await system.signIn()).csrfToken }),
    'header.X-CSRF-Token',
  ],
  ['without an Origin', async () => ({ origin: undefined }), 'header.Origin'],
  ["with another site's Origin", async () => ({ origin: 'https://evil.example' }), 'header.Origin'],
  ['with the Origin null of a sandboxed page', async () => ({ origin: 'null' }), 'header.Origin'],
  ['that the browser calls cross-site', async () => ({ 'sec-fetch-site': 'cross-site' }), 'header.Origin'],
])('a write %s is rejected and changes nothing', async (_case, headersOf, path) => {
  const headers = await headersOf();
  for (const { status, json } of await Promise.all(writes({ headers }))) {
    expect(status).toBe(400);
    expect(json.details.errors[0].path).toBe(path);
  }
  const keys = await owner.send(`/console/guilds/${GUILD}/keys`);
  expect(keys.json.data.keys).toHaveLength(1);
  expect((await owner.api(`/moderation/${GUILD}/game/bans/active`)).json.data.bans).toEqual([]);
});

test('a link is not used up by a request of another site', async () => {
  const token = await system.createLink();
  const body = { token };
  const browser = new Browser(system.url);
  const foreign = await browser.send('/console/sign-in/link', {
    method: 'POST',
    body,
    headers: { origin: 'https://evil.example' },
  });
  expect(foreign.status).toBe(400);
  expect((await browser.send('/console/sign-in/link', { method: 'POST', body })).status).toBe(200);
});

test('a form of another site cannot write, because its content type is not JSON', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const { status } of await Promise.all(writes({ headers, body: 'name=k' }))) expect(status).toBe(415);
});
