import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { OPERATOR, SignInFixture } from './fixtures/sign-in.ts';

let fixture: SignInFixture;

beforeAll(async () => {
  fixture = await SignInFixture.start();
});
afterEach(() => fixture.restore());
afterAll(() => fixture.stop());

const now = () => Math.floor(Date.now() / 1000);

test.each([
  ['the nonce of another sign-in', { claims: { nonce: 'A'.repeat(43) } }],
  ['no nonce', { claims: { nonce: null } }],
  ['another audience', { claims: { aud: 'another-application' } }],
  ['several audiences, of which another is the authorized party', { claims: { aud: ['guild-data', 'b'], azp: 'b' } }],
  ['another issuer', { claims: { iss: 'https://attacker.example' } }],
  ['an expiry in the past', { claims: { exp: now() - 3_600 } }],
  ['no expiry', { claims: { exp: null } }],
  ['no subject', { claims: { sub: null } }],
  ['a subject with a line feed', { claims: { sub: 'olga\nadmin' } }],
  ['a subject above 255 characters', { claims: { sub: 'a'.repeat(256) } }],
  ['no signature (alg none)', { alg: 'none' }],
  ['the signature of a key that the provider does not publish', { other_key: true }],
])('an ID token with %s creates no session, and is a fault of the provider', async (_what, forgery) => {
  await fixture.control('oidc', 'PUT', '/__id_token', forgery);
  await expect(fixture.signIn('oidc', OPERATOR)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test('a valid ID token after rejected ones signs the person in', async () => {
  await fixture.control('oidc', 'PUT', '/__id_token', { claims: { nonce: 'A'.repeat(43) } });
  await expect(fixture.signIn('oidc', OPERATOR)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  await fixture.restore();
  expect((await fixture.signIn('oidc', OPERATOR)).sessionToken).toHaveLength(43);
});

test('userinfo of another person than that of the ID token creates no session', async () => {
  await fixture.control('oidc', 'PUT', '/__id_token', { claims: { groups: null } });
  await fixture.fault('oidc', '/userinfo', { status: 200, body: { sub: 'mallory', groups: ['guild-data-operators'] } });
  await expect(fixture.signIn('oidc', OPERATOR)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test.each([
  ['the value itself', 'guild-data-operators', true],
  ['a list with the value', ['a', 'guild-data-operators'], true],
  ['a list without the value', ['a'], false],
  ['a text that contains the value', 'not-guild-data-operators', false],
  ['an object with the value', { 'guild-data-operators': true }, false],
  ['an empty list', [], false],
])('an operator claim that is %s', async (_what, groups, isOperator) => {
  await fixture.control('oidc', 'PUT', '/__id_token', { claims: { groups } });
  const { sessionToken } = await fixture.signIn('oidc', OPERATOR);
  expect(await fixture.session(sessionToken)).toMatchObject({ isOperator });
});
