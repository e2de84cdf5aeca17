import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandBody, signatureOf } from '../system/interactions.ts';
import { GUILD } from '../system/system.ts';
import { InteractionsFixture } from './fixtures/interactions.ts';

const fixture = new InteractionsFixture();

beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const MINUTE_MS = 60_000;
const BODY = commandBody({ guildId: GUILD, chatId: '920000000000000001', name: 'verify' });
/** The order of the group of Ed25519. A signature with S + L is as valid as one with S where S is not checked. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

type Headers = Record<string, string>;
type Vector = [name: string, headers: () => Headers, body?: string];

const now = () => String(Math.floor(Date.now() / 1000));
const signed = (body = BODY, options = {}) => signatureOf(body, options);
const withSignature = (change: (signature: string) => string): Headers => {
  const headers = signed();
  return { ...headers, 'x-signature-ed25519': change(headers['x-signature-ed25519'] ?? '') };
};
const withTimestamp = (change: (timestamp: string) => string): Headers => {
  const headers = signed();
  return { ...headers, 'x-signature-timestamp': change(headers['x-signature-timestamp'] ?? '') };
};
const without = (name: string): Headers => {
  const { [name]: _left, ...headers } = signed();
  return headers;
};

function plusOrder(signature: string): string {
  const bytes = Buffer.from(signature, 'hex');
  const s = BigInt(`0x${Buffer.from(bytes.subarray(32).toReversed()).toString('hex')}`) + ORDER;
  return (
    bytes.subarray(0, 32).toString('hex') +
    Buffer.from(Buffer.from(s.toString(16).padStart(64, '0'), 'hex').toReversed()).toString('hex')
  );
}

const VECTORS: Vector[] = [
  ['no headers', () => ({})],
  ['no signature', () => without('x-signature-ed25519')],
  ['no timestamp', () => without('x-signature-timestamp')],
  ['an empty signature', () => withSignature(() => '')],
  ['a signature that is too short', () => withSignature((text) => text.slice(2))],
  ['a signature that is too long', () => withSignature((text) => `${text}00`)],
  ['a signature with another character', () => withSignature((text) => `${text.slice(1)}g`)],
  ['a signature in upper case', () => withSignature((text) => text.toUpperCase())],
  ['a signature with a prefix', () => withSignature((text) => `0x${text}`)],
  ['a signature in base64', () => withSignature((text) => Buffer.from(text, 'hex').toString('base64'))],
  ['a signature of zeros', () => withSignature(() => '0'.repeat(128))],
  ['a signature of the neutral element', () => withSignature(() => `01${'0'.repeat(126)}`)],
  ['a signature whose S is above the order', () => withSignature(plusOrder)],
  ['a changed R', () => withSignature((text) => (text.startsWith('0') ? '1' : '0') + text.slice(1))],
  ['the signature of another application', () => signed(BODY, { byOther: true })],
  ['the signature of another body', () => signed('{"type":1}')],
  ['a body with another byte', () => signed(), BODY.replace('verify', 'verifz')],
  ['a body with one byte more', () => signed(), `${BODY} `],
  ['a body with one byte less', () => signed(), BODY.slice(0, -1)],
  ['no body', () => signed(), ''],
  ['another timestamp', () => withTimestamp((text) => String(Number(text) + 1))],
  ['a timestamp with a leading zero', () => withTimestamp((text) => `0${text}`)],
  ['a timestamp with a fraction', () => withTimestamp((text) => `${text}.0`)],
  ['a timestamp in milliseconds', () => withTimestamp((text) => `${text}000`)],
  ['a timestamp that is no number', () => withTimestamp(() => 'now')],
  ['the timestamp zero', () => signed(BODY, { now: 0 })],
  ['a timestamp of the year 3000', () => signed(BODY, { now: Date.UTC(3000) })],
  ['a negative timestamp', () => signed(BODY, { now: -Date.now() })],
  ['a timestamp in hexadecimal digits', () => withTimestamp((text) => `0x${Number(text).toString(16)}`)],
  ['two timestamps', () => withTimestamp((text) => `${text}, ${text}`)],
  ['a timestamp that takes a byte of the body', () => withTimestamp((text) => `${text}{`), BODY.slice(1)],
  ['an old timestamp', () => signed(BODY, { now: Date.now() - 6 * MINUTE_MS })],
  ['a timestamp in the future', () => signed(BODY, { now: Date.now() + 6 * MINUTE_MS })],
  ['two signatures', () => withSignature((text) => `${text}, ${text}`)],
  ['an API key instead of a signature', () => ({ 'x-api-key': fixture.key, 'x-signature-timestamp': now() })],
];

describe('a request without a valid signature gets 401', () => {
  test.each(VECTORS)('%s', async (_name, headers, body = BODY) => {
    const { status, json } = await fixture.send(body, headers(), { from: fixture.newAddress() });
    expect([status, json.details]).toEqual([401, { code: 'INVALID_SIGNATURE' }]);
  });

  test('and the same body with its signature is accepted', async () => {
    expect(await fixture.signed(BODY)).toMatchObject({ status: 200, json: { type: 5 } });
  });
});

test('a signature that is four minutes old is accepted', async () => {
  const body = '{"type":1}';
  const headers = signed(body, { now: Date.now() - 4 * MINUTE_MS });
  expect((await fixture.send(body, headers)).status).toBe(200);
});

test('an address with too many wrong signatures gets 429, but a valid signature from it is accepted', async () => {
  const from = fixture.newAddress();
  const statuses = [];
  // More than two windows allow, in case a new window begins meanwhile.
  for (let count = 0; count < 65; count++) statuses.push((await fixture.send(BODY, {}, { from })).status);
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  const { status, headers, json } = await fixture.send(BODY, signed(BODY, { byOther: true }), { from });
  expect([status, json.details.category]).toEqual([429, 'interaction_signatures']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['30', '0']);
  expect(Number(headers.get('x-ratelimit-reset')) * 1000).toBeGreaterThan(Date.now() - 1_000);
  expect((await fixture.signed('{"type":1}', { from })).status).toBe(200);
  expect((await fixture.send(BODY, {}, { from: fixture.newAddress() })).status).toBe(401);
});

test('a member who uses too many commands is told to wait, and nobody else is', async () => {
  const use = (chatId: string) => fixture.signed(commandBody({ guildId: GUILD, chatId, name: 'unknown' }));
  const types = [];
  for (let count = 0; count < 25; count++) types.push((await use('920000000000000003')).json.type);
  // A new window may begin meanwhile.
  expect(types.filter((type) => type === 5).length).toBeLessThanOrEqual(20);
  expect(types).toContain(4);
  expect((await use('920000000000000004')).json.type).toBe(5);
});

test('a body above 64 KiB gets 413', async () => {
  const body = JSON.stringify({ type: 1, padding: 'x'.repeat(70_000) });
  expect((await fixture.signed(body)).status).toBe(413);
});

test('each result is counted', async () => {
  const counted = (await fixture.metrics('gateway', 'gateway_interactions_total')).join('\n');
  for (const result of ['ping', 'accepted', 'missing_signature', 'old_timestamp', 'bad_signature']) {
    expect(counted).toContain(`result="${result}"`);
  }
});

// The last test, because it replaces the gateway.
test('without the public key of the application the path does not exist', async () => {
  await fixture.network.startOne('gateway', { CHAT_APPLICATION_PUBLIC_KEY: '' });
  const { status, json } = await fixture.signed('{"type":1}');
  expect([status, json.details.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
});
