import { expect, test } from 'vitest';
import { z } from 'zod';
import { MAX_FAULTS } from '#proto/rest/messages.ts';
import {
  batch,
  chatId,
  exactlyOneOf,
  gameId,
  listOf,
  optional,
  page,
  text,
  timestampQuery,
} from '#proto/rest/schemas.ts';
import { seededRandom, shuffled, wholeNumber } from '#test/random.ts';
import { type ApiError, invalidRequest } from '../errors.ts';
import { hashJson, parseBody } from './body.ts';
import { readQuery, validate } from './validate.ts';

const json = (value: string) => parseBody(Buffer.from(value));

/** The parsed value; undefined if it is rejected. */
function accepted(schema: z.ZodType, value: unknown): unknown {
  return validate(z.object({ field: schema }), { field: value }, 'body').value?.field;
}

function rejectionOf(bytes: Buffer | string): ApiError {
  try {
    parseBody(Buffer.from(bytes));
  } catch (error) {
    return error as ApiError;
  }
  throw new Error('it was not rejected');
}

test('all errors of a value are reported together, each with its path', () => {
  const schema = z.object({
    chat_id: chatId,
    game_ids: batch(gameId),
    players: z.array(z.object({ game_id: gameId })),
    name: text(1, 3),
    reason: z.string(),
  });
  const value = { chat_id: '1', game_ids: [1, 'x', 0.5], players: [{ game_id: 1 }, {}], name: '' };
  expect(validate(schema, value, 'body').faults).toEqual([
    { path: 'body.chat_id', message: 'must be a chat ID: a string of 17 to 20 digits' },
    { path: 'body.game_ids[1]', message: 'must be a game ID: a whole number from 1 to 9007199254740991' },
    { path: 'body.game_ids[2]', message: 'must be a game ID: a whole number from 1 to 9007199254740991' },
    { path: 'body.players[1].game_id', message: 'is required' },
    { path: 'body.name', message: 'must have 1 to 3 characters' },
    { path: 'body.reason', message: 'is required' },
  ]);
});

test('an error without a message in its schema gets a default message', () => {
  const schema = z.object({
    player: z.object({ id: gameId }),
    payload: z.record(z.string(), z.unknown()),
    roles: z.array(z.string()),
    at: z.int().min(0).max(9),
    until: z.int().max(9),
    since: z.int().min(0),
    ratio: z.number(),
    final: z.boolean(),
    name: z.string(),
  });
  const value = { player: 'x', payload: 1, roles: {}, at: '1', until: 10, since: -1, ratio: 'x', final: 1, name: 2 };
  const faults = validate(schema, value, 'body').faults?.map(({ path, message }) => `${path} ${message}`);
  expect(faults).toEqual([
    'body.player must be an object',
    'body.payload must be an object',
    'body.roles must be a list',
    'body.at must be a number',
    'body.until must be at most 9',
    'body.since must be at least 0',
    'body.ratio must be a number',
    'body.final must be true or false',
    'body.name must be a string',
  ]);
  expect(validate(z.object({ at: z.int() }), { at: 1.5 }, 'body').faults).toEqual([
    { path: 'body.at', message: 'must be a whole number' },
  ]);
});

test('a list over its limit is reported together with the faults of its items', () => {
  const ids = [...Array(26).keys()].map((index) => index + 1);
  const tooMany = { path: 'body.ids', message: 'must hold at most 25 IDs' };
  const faultsOf = (value: unknown) => validate(z.object({ ids: batch(gameId) }), { ids: value }, 'body').faults;
  expect(faultsOf(ids)).toEqual([tooMany]);
  expect(faultsOf(ids.with(3, 0).with(25, -1))?.map(({ path }) => path)).toEqual([
    'body.ids',
    'body.ids[3]',
    'body.ids[25]',
  ]);
});

test('at most 20 errors are listed, and no further item of a list is checked', () => {
  let checks = 0;
  const item = z.object({ id: gameId }).refine(
    () => {
      checks++;
      return false;
    },
    { error: 'is wrong', when: () => true },
  );
  const value = { ids: Array.from({ length: 200 }, () => ({})), name: 1 };
  const { faults } = validate(z.object({ name: z.string(), ids: listOf(item, 200) }), value, 'body');
  expect(faults).toHaveLength(MAX_FAULTS);
  expect(faults?.slice(0, 3)).toEqual([
    { path: 'body.name', message: 'must be a string' },
    { path: 'body.ids[0].id', message: 'is required' },
    { path: 'body.ids[0]', message: 'is wrong' },
  ]);
  expect(checks).toBe(MAX_FAULTS / 2);
  expect(readQuery(Array.from({ length: 900 }, (_, index) => `p${index % 450}=1`).join('&')).faults).toHaveLength(
    MAX_FAULTS,
  );
  const many = Array.from({ length: 500 }, () => ({ path: 'body', message: 'is wrong' }));
  expect(invalidRequest(many).details['errors']).toHaveLength(MAX_FAULTS);
});

test('a list far over its limit gives one error, not one per item', () => {
  const faults = validate(z.object({ ids: batch(gameId) }), { ids: Array(3000).fill('x') }, 'body').faults;
  expect(faults).toEqual([{ path: 'body.ids', message: 'must hold at most 25 IDs' }]);
});

test('chat IDs are 64-bit snowflakes; game IDs are whole numbers up to 2^53 - 1, or their digits', () => {
  const chat = (value: unknown) => accepted(chatId, value);
  expect(['10000000000000000', '18446744073709551615'].map(chat)).toEqual([
    '10000000000000000',
    '18446744073709551615',
  ]);
  const notChat = [
    '18446744073709551616',
    '1000000000000000',
    '010000000000000000',
    '1e17',
    '１００００００００００００００００',
    1e17,
  ];
  expect(notChat.map(chat)).toEqual(notChat.map(() => undefined));
  const game = (value: unknown) => accepted(gameId, value);
  expect([1, '1', 9007199254740991, '9007199254740991'].map(game)).toEqual([1, 1, 9007199254740991, 9007199254740991]);
  const notGame = [0, -1, 1.5, 9007199254740992, '9007199254740992', '01', '+1', ' 1', '1e3', '', null, true, [1]];
  expect(notGame.map(game)).toEqual(notGame.map(() => undefined));
});

test('exactly one of two fields is required: null counts as missing, an invalid value as present', () => {
  const schema = z.object({ a: optional(chatId), b: optional(chatId) }).refine(...exactlyOneOf('a', 'b'));
  const id = '920000000000000001';
  expect(validate(schema, { a: id, b: null }, 'body').value).toEqual({ a: id, b: undefined });
  expect(validate(schema, {}, 'body').faults).toEqual([{ path: 'body', message: 'must hold exactly one of a, b' }]);
  expect(validate(schema, { a: id, b: id }, 'body').faults).toHaveLength(1);
  expect(validate(schema, { a: 'x', b: id }, 'body').faults).toEqual([
    { path: 'body.a', message: 'must be a chat ID: a string of 17 to 20 digits' },
    { path: 'body', message: 'must hold exactly one of a, b' },
  ]);
});

test('an empty list reads as an empty object where an object is expected, and nowhere else', () => {
  const part = z.object({ note: optional(z.string()) });
  const schema = z.object({ payload: part, free: optional(z.record(z.string(), z.unknown())), acks: z.array(part) });
  expect(validate(schema, json('{"payload":[],"free":[],"acks":[[],{}]}'), 'body').value).toEqual({
    payload: { note: undefined },
    free: {},
    acks: [{ note: undefined }, { note: undefined }],
  });
  expect(validate(schema, json('{"payload":[1],"acks":[]}'), 'body').faults).toHaveLength(1);
  expect(validate(z.object({ any: z.unknown() }), json('{"any":[]}'), 'body').value).toEqual({ any: [] });
  expect(json('[]')).toEqual({});
});

test('__proto__ and constructor are unknown fields like any other and change nothing', () => {
  const schema = z.object({ guild_id: optional(z.string()), free: optional(z.record(z.string(), z.unknown())) });
  const body = json(
    '{"__proto__":{"guild_id":"x"},"constructor":{"prototype":{"polluted":1}},"free":{"__proto__":{"a":1}}}',
  );
  const value = validate(schema, body, 'body').value;
  expect(value).toEqual({ guild_id: undefined, free: {} });
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  const query = readQuery('__proto__=1&constructor=2').value;
  expect(validate(z.object({ limit: page.limit }), query, 'query').value).toEqual({ limit: 50 });
});

test('the length of text is in Unicode characters; control characters are rejected, also line breaks and tabs in a single line', () => {
  const fits = (value: string, lines = false) => accepted(text(1, 4, { lines }), value) !== undefined;
  expect(['𝄞𝄞𝄞𝄞', 'añ€🙂'].map((value) => fits(value))).toEqual([true, true]);
  expect(['', '𝄞𝄞𝄞𝄞𝄞', 'a\u0000', 'a\n', '\u0085', '\ud800'].map((value) => fits(value))).not.toContain(true);
  expect(['a\nb', 'a\tb'].map((value) => fits(value, true))).toEqual([true, true]);
  expect(fits('a\rb', true)).toBe(false);
});

test('a repeated query parameter is an error, even after a thousand others', () => {
  const many = Array.from({ length: 1500 }, (_, index) => `p${index}=1`).join('&');
  const { value, faults } = readQuery(`${many}&limit=1&limit=2&name=a%20b+c`);
  expect(faults).toEqual([{ path: 'query.limit', message: 'must be given only once' }]);
  expect(value).toMatchObject({ p1499: '1', name: 'a b c' });
});

test('page and time parameters consist of digits only', () => {
  const limit = (value: string) => accepted(page.limit, value);
  expect(['1', '100', '0', '101', '050', '1e1', ' 5', ''].map(limit)).toEqual([1, 100, ...Array(6).fill(undefined)]);
  const time = (value: string) => accepted(timestampQuery, value);
  expect(['0', '1790000000', '-1', '1.5', '', '9'.repeat(12)].map(time)).toEqual([
    0,
    1790000000,
    ...Array(4).fill(undefined),
  ]);
});

test('a body is UTF-8, with or without a byte order mark; an empty or blank body is {}', () => {
  expect(json('\ufeff{"a":"é"}')).toEqual({ a: 'é' });
  expect(['', '  \r\n', '{}', '[]'].map(json)).toEqual([{}, {}, {}, {}]);
});

test.each([
  ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
  ['cut off', '{"hidden": "value'],
  ['not JSON', 'hidden=value'],
  ['two documents', '{} {"hidden":1}'],
  ['a list', '["hidden"]'],
  ['a text', '"hidden"'],
  ['null', 'null'],
  ['nested too deep', `${'{"hidden":'.repeat(33)}1${'}'.repeat(33)}`],
  ['nested absurdly deep', '['.repeat(32_000) + ']'.repeat(32_000)],
])('a body that is %s is rejected and never quoted', (_what, bytes) => {
  const error = rejectionOf(bytes);
  expect(error.code).toBe('INVALID_REQUEST');
  expect(error.details.errors).toEqual([{ path: 'body', message: expect.any(String) }]);
  expect(error.message + JSON.stringify(error.details)).not.toContain('hidden');
});

test('32 levels of nesting are allowed', () => {
  expect(rejectionOf(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`).code).toBe('INVALID_REQUEST');
  expect(json(`${'{"a":'.repeat(32)}1${'}'.repeat(32)}`)).toHaveProperty('a');
});

function randomValue(random: () => number, depth: number): unknown {
  const kind = wholeNumber(random, depth > 0 ? 7 : 5);
  if (kind < 5) return [null, true, wholeNumber(random, 1000) / 8, `é"\\${wholeNumber(random, 99)}`, ''][kind];
  const items = Array.from({ length: wholeNumber(random, 5) }, () => randomValue(random, depth - 1));
  if (kind === 5) return items;
  return Object.fromEntries(items.map((item, index) => [['10', '9', 'b', 'a', '__proto__'][index], item]));
}

function reordered(random: () => number, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => reordered(random, item));
  return Object.fromEntries(
    shuffled(random, Object.entries(value)).map(([key, item]) => [key, reordered(random, item)]),
  );
}

test('the hash of a body depends on everything except the order of its keys', () => {
  const random = seededRandom(7);
  const hashes = new Map<string, unknown>();
  for (let round = 0; round < 500; round++) {
    const value = { round, body: randomValue(random, 4) };
    const hash = hashJson(value).toString('hex');
    expect(hashJson(reordered(random, value)).toString('hex')).toBe(hash);
    expect(hashes.get(hash)).toBeUndefined();
    hashes.set(hash, value);
  }
  expect(hashJson({ a: [1, 2] })).not.toEqual(hashJson({ a: [2, 1] }));
  expect(hashJson({ a: 1 })).not.toEqual(hashJson({ a: '1' }));
  expect(hashJson({ a: null })).not.toEqual(hashJson({}));
});
