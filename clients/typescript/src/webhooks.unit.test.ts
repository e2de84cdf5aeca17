import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { type VerifyOptions, verifyWebhook, type WebhookHeaders } from './webhooks.ts';

const NOW = 1_780_000_000;
const secretOf = () => `whsec_${randomBytes(24).toString('base64')}`;
const SECRET = secretOf();
const BODY = JSON.stringify({ id: 'e-1', seq: 1, type: 'link.created', data: { game_username: 'Ëster' } });

const sign = (secret: string, at = NOW, body = BODY) => new Webhook(secret).sign('e-1', new Date(at * 1_000), body);
const headersOf = (signature: string, at: number | string = NOW) => ({
  'webhook-id': 'e-1',
  'webhook-timestamp': String(at),
  'webhook-signature': signature,
});
const verify = (
  headers: WebhookHeaders,
  body: string | Uint8Array = BODY,
  secret: string | string[] = SECRET,
  options: VerifyOptions = { now: NOW },
) => verifyWebhook({ headers, body }, secret, options);

test('returns the event of a request that another implementation of Standard Webhooks signed', async () => {
  const event = await verify(headersOf(sign(SECRET)));
  expect(event).toEqual(JSON.parse(BODY));
  const headers = new Headers(headersOf(sign(SECRET)));
  expect(await verify(headers, new TextEncoder().encode(BODY))).toEqual(event);
  const node = { 'Webhook-Id': 'e-1', 'Webhook-Timestamp': String(NOW), 'Webhook-Signature': sign(SECRET) };
  expect(await verify(node)).toEqual(event);
});

test('accepts one of several signatures, and one of several secrets', async () => {
  const older = secretOf();
  const both = headersOf(`${sign(older)} ${sign(SECRET)}`);
  await expect(verify(both)).resolves.toMatchObject({ seq: 1 });
  await expect(verify(both, BODY, older)).resolves.toMatchObject({ seq: 1 });
  await expect(verify(headersOf(sign(SECRET)), BODY, [older, SECRET])).resolves.toMatchObject({ seq: 1 });
});

test.each([
  ['another secret', headersOf(sign(secretOf())), BODY],
  ['another body', headersOf(sign(SECRET)), `${BODY} `],
  ['another ID', { ...headersOf(sign(SECRET)), 'webhook-id': 'e-2' }, BODY],
  ['another time', headersOf(sign(SECRET), NOW + 1), BODY],
  ['another version', headersOf(sign(SECRET).replace('v1,', 'v1a,')), BODY],
  ['a cut signature', headersOf(sign(SECRET).slice(0, -8)), BODY],
  ['no base64', headersOf('v1,?'), BODY],
  ['too many signatures', headersOf([...Array(10).fill('v1,AAAA'), sign(SECRET)].join(' ')), BODY],
])('rejects %s', async (_, headers, body) => {
  await expect(verify(headers, body)).rejects.toMatchObject({ fault: 'wrong signature' });
});

test.each([-301, 301])('rejects a timestamp %i s away; a larger tolerance accepts it', async (difference) => {
  const at = NOW + difference;
  const headers = headersOf(sign(SECRET, at), at);
  await expect(verify(headers)).rejects.toMatchObject({ fault: 'wrong timestamp' });
  await expect(verify(headers, BODY, SECRET, { now: NOW, toleranceSeconds: 400 })).resolves.toBeTruthy();
});

test('rejects a timestamp that is no number, and a request without one of the headers', async () => {
  await expect(verify(headersOf(sign(SECRET), '1e9'))).rejects.toMatchObject({ fault: 'wrong timestamp' });
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
    const headers = { ...headersOf(sign(SECRET)), [name]: undefined };
    await expect(verify(headers)).rejects.toMatchObject({ fault: 'missing header' });
  }
});

test('rejects a signed body that is not JSON, and a secret that is none', async () => {
  const text = 'not json';
  await expect(verify(headersOf(sign(SECRET, NOW, text)), text)).rejects.toMatchObject({ fault: 'wrong body' });
  await expect(verify(headersOf(sign(SECRET)), BODY, 'whsec_?')).rejects.toThrow(
    /^the secret must be whsec_ and base64$/,
  );
});

test('a missing secret and a parsed body are explained, because both are mistakes of the program', async () => {
  const headers = headersOf(sign(SECRET));
  for (const secret of [null, [], [null], '', 'whsec_'] as unknown as string[]) {
    await expect(verify(headers, BODY, secret)).rejects.toThrow(new TypeError('the secret must be whsec_ and base64'));
  }
  for (const body of [JSON.parse(BODY), null, 5] as string[]) {
    await expect(verify(headers, body)).rejects.toThrow(/not parsed JSON/);
  }
});
