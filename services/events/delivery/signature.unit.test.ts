import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { newSecret, signatureHeaders } from './signature.ts';

const ID = '6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60';
const BODY = JSON.stringify({ type: 'ban.created', reason: 'Grüße 🚀' });
const now = () => Math.floor(Date.now() / 1000);

test('a secret is whsec_ and the base64 of 32 random bytes', () => {
  const bytes = randomBytes(32);
  expect(newSecret(() => bytes)).toBe(`whsec_${bytes.toString('base64')}`);
  expect(newSecret(randomBytes)).not.toBe(newSecret(randomBytes));
});

test('the library of Standard Webhooks verifies a signature', () => {
  const secret = newSecret(randomBytes);
  expect(new Webhook(secret).verify(BODY, signatureHeaders([secret], ID, now(), BODY))).toEqual(JSON.parse(BODY));
});

test('while a rotation lasts, receivers verify with the new and with the previous secret, and with no other', () => {
  const [current, previous, other] = [newSecret(randomBytes), newSecret(randomBytes), newSecret(randomBytes)];
  const headers = signatureHeaders([current, previous], ID, now(), BODY);
  expect(headers['webhook-signature']).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
  for (const secret of [current, previous]) expect(new Webhook(secret).verify(BODY, headers)).toEqual(JSON.parse(BODY));
  expect(() => new Webhook(other).verify(BODY, headers)).toThrow(/signature/i);
});

test('a signature is for its ID, time and body', () => {
  const secret = newSecret(randomBytes);
  const headers = signatureHeaders([secret], ID, now(), BODY);
  const webhook = new Webhook(secret);
  expect(() => webhook.verify(`${BODY} `, headers)).toThrow(/signature/i);
  expect(() => webhook.verify(BODY, { ...headers, 'webhook-id': 'other' })).toThrow(/signature/i);
  expect(() => webhook.verify(BODY, { ...headers, 'webhook-timestamp': String(now() - 1) })).toThrow(/signature/i);
});

test('the signature is the HMAC-SHA-256 with the decoded secret over ID, time and body', () => {
  const key = Buffer.alloc(32, 7);
  const expected = createHmac('sha256', key).update(`id.1790000000.{}`).digest('base64');
  expect(signatureHeaders([`whsec_${key.toString('base64')}`], 'id', 1790000000, '{}')).toEqual({
    'webhook-id': 'id',
    'webhook-timestamp': '1790000000',
    'webhook-signature': `v1,${expected}`,
  });
});

test.each(['', 'whsec_', 'whsec_c2hvcnQ=', Buffer.alloc(32).toString('base64')])(
  'the secret %j is not signed with',
  (secret) => {
    expect(() => signatureHeaders([secret], 'id', 1, '')).toThrow('malformed webhook secret');
  },
);
