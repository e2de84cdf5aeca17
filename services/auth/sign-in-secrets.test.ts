import { afterAll, beforeAll, expect, test } from 'vitest';
import { Canaries, dumpDatabase } from '#test/system/canaries.ts';
import { CLIENT_SECRETS, OPERATOR, OWNER, SignInFixture } from './fixtures/sign-in.ts';

let fixture: SignInFixture;

beforeAll(async () => {
  fixture = await SignInFixture.start();
});
afterAll(() => fixture.stop());

test('no code, state, browser secret, token or client secret appears in a log, metric, error or row', async () => {
  const canaries = new Canaries();
  for (const [provider, secret] of Object.entries(CLIENT_SECRETS)) canaries.add(`${provider} client secret`, secret);
  const errors: unknown[] = [];
  for (const [provider, login] of [
    ['chat', OWNER],
    ['oidc', OPERATOR],
  ] as const) {
    const succeed = await fixture.begin(provider);
    const query = await fixture.choose(succeed, login);
    const { sessionToken } = await fixture.finish(succeed, query);
    canaries.add(`${provider} session`, sessionToken);
    // Every way in which a callback can fail: at our checks, at the provider's, and because of the provider.
    const faults = [{ status: 500 }, { status: 401 }, { broken: true }, { status: 200, body: { access_token: 7 } }];
    for (const fault of [undefined, ...faults]) {
      const started = await fixture.begin(provider);
      const answer = await fixture.choose(started, login);
      for (const name of ['state', 'code']) canaries.add(`${provider} ${name}`, answer.get(name) ?? '');
      canaries.add(`${provider} browser secret`, started.browserSecret);
      if (fault) await fixture.fault(provider, '/token', { ...fault, times: 1 });
      else answer.set('code', query.get('code') ?? '');
      errors.push(await fixture.finish(started, answer).catch((error: unknown) => error));
    }
    const forged = await fixture.begin(provider);
    const answer = await fixture.choose(forged, login);
    canaries.add(`${provider} code at another issuer`, answer.get('code') ?? '');
    answer.set('iss', 'https://attacker.example');
    errors.push(await fixture.finish(forged, answer).catch((error: unknown) => error));
    await fixture.begin(provider);
  }
  const metrics = await fetch(`http://${fixture.auth.service.addresses.admin}/metrics`);
  expect(errors.filter((error) => error instanceof Error)).toHaveLength(12);
  canaries.place('logs', fixture.auth.log.join(''));
  canaries.place('errors', JSON.stringify(errors.map((error) => [String(error), error])));
  canaries.place('metrics', await metrics.text());
  canaries.place('database', await dumpDatabase(fixture.databaseUrl));
  expect(fixture.auth.log.some((line) => line.includes('browser returned from the sign-in'))).toBe(true);
  expect(canaries.findings()).toEqual([]);
});
