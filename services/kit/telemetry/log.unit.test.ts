import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { requestContext } from '../context.ts';
import { ApiError } from '../errors.ts';
import { newRequestId, requestIdOf } from '../http/request-id.ts';
import { makeApiKey } from '../security/api-key.ts';
import { describeError, redactKeys } from '../security/redact.ts';
import { createLog } from './log.ts';

const GUILD = '900000000000000001';

async function logged(write: (log: Awaited<ReturnType<typeof createLog>>) => void): Promise<string> {
  let text = '';
  const destination = { write: (line: string) => void (text += line) };
  write(await createLog({ service: 'lookup', level: 'info', destination }));
  return text;
}

test('the secret of an API key is never logged, wherever it occurs in a line', async () => {
  const key = makeApiKey(GUILD, randomBytes);
  const text = await logged((log) => {
    log.info({ url: `/x?api_key=${key}`, headers: { [key]: [key] } }, `with ${key} and ${key}`);
    log.error({ err: new ApiError('INTERNAL', { message: key, details: { key }, cause: new Error(key) }) });
  });
  expect(text.match(new RegExp(`service_${GUILD}_[0-9A-Za-z]{6}\\*\\*\\*`, 'g'))?.length).toBeGreaterThan(6);
  expect(text).not.toContain(key.slice(0, -30));
});

test("an error's type, message, code, stack and causes are logged, and none of its other properties", async () => {
  const rejected = Object.assign(new Error('WRONGPASS'), {
    code: 'ERR',
    command: { args: ['canary'] },
    input: 'canary',
  });
  const several = new AggregateError([rejected, { detail: 'canary' }], 'no host could be reached');
  const text = await logged((log) => {
    log.error({ err: new ApiError('UNAVAILABLE', { cause: several, details: { of: 'canary' } }) });
    log.fatal({ err: { password: 'canary' } });
    log.error(Object.assign(new Error('bare'), { password: 'canary' }));
  });
  expect(text).not.toContain('canary');
  const [first = '{}', second = '{}', third = '{}'] = text.trim().split('\n');
  const cause = { type: 'AggregateError', errors: [{ message: 'WRONGPASS', code: 'ERR' }, { type: 'object' }] };
  expect(JSON.parse(first).err).toMatchObject({ type: 'ApiError', code: 'UNAVAILABLE', cause });
  expect(JSON.parse(first).err.cause.errors[0].stack).toContain('log.unit.test.ts');
  expect(JSON.parse(second).err).toEqual({ type: 'object', message: 'not an error' });
  expect(JSON.parse(third)).toMatchObject({ err: { message: 'bare' } });
});

test('an error that is its own cause can be logged', () => {
  const error = new Error('again');
  error.cause = error;
  expect(JSON.stringify(describeError(error)).match(/"message":"again"/g)).toHaveLength(6);
});

test('the random part of an API key alone is never logged, neither as request ID nor in other text', async () => {
  for (let round = 0; round < 200; round++) {
    const random = makeApiKey(GUILD, randomBytes).split('_')[2] as string;
    const text = await logged((log) => {
      const context = { requestId: requestIdOf(random), route: 'getLink' };
      requestContext.run(context, () => log.info({ [random]: `x${random}9` }, `/${random}/${random}_${random}`));
      log.error({ err: new ApiError('INTERNAL', { message: random, cause: new Error(`of ${random}.`) }) });
    });
    expect(text).not.toContain(random.slice(6, 20));
    expect(text).toContain(`"request_id":"${random.slice(0, 6)}***"`);
  }
});

test.each([
  ['a UUID', '0b0c9d3e-7d1b-4f6e-9f1c-0a4d6a1b2c3d'],
  ['a UUID without hyphens, twice', '0b0c9d3e7d1b4f6e9f1c0a4d6a1b2c3d'.repeat(2)],
  ['a SHA-256', 'E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855'],
  ['a ULID', '01ARZ3NDEKTSV4RRFFQ69G5FAV'],
  ['a W3C trace', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ['a long name', 'ServerReflectionInfoInterceptingCallImplementation'],
  ['a long number', '9'.repeat(80)],
  ['37 random characters', 'aB3'.repeat(13).slice(0, 37)],
])('%s is not mistaken for an API key', (_what, text) => {
  for (const place of [text, `a ${text} b`, JSON.stringify({ request_id: text })])
    expect(redactKeys(place)).toBe(place);
});

test('38 letters and digits in a row are found at any position', () => {
  const random = 'aB3'.repeat(13).slice(0, 38);
  for (let before = 0; before < 120; before++) {
    const gap = ' '.repeat(before % 7) + '-'.repeat(before);
    expect(redactKeys(`${gap}${random}${gap}`)).toBe(`${gap}aB3aB3***${gap}`);
    expect(redactKeys(`abc ${gap}${random}`)).toBe(`abc ${gap}aB3aB3***`);
  }
});

test('an incomplete or mistyped API key is redacted too, and other text is unchanged', () => {
  expect(redactKeys(`service_${GUILD}_abcdefghi`)).toBe(`service_${GUILD}_abcdef***`);
  expect(redactKeys('service_role_id stays')).toBe('service_role_id stays');
});

test('each log line of a request has its ID and route', async () => {
  const text = await logged((log) => {
    requestContext.run({ requestId: 'r-1', route: 'getLink' }, () => log.info('inside'));
    log.info('outside');
  });
  const [inside, outside] = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(inside).toMatchObject({
    level: 'info',
    service: 'lookup',
    request_id: 'r-1',
    route: 'getLink',
    msg: 'inside',
  });
  expect(outside).not.toHaveProperty('request_id');
});

test("a client's request ID is used if it has 1 to 128 allowed characters, and replaced otherwise", () => {
  for (const good of ['a', 'A.b_c-9', 'x'.repeat(128)]) expect(requestIdOf(good)).toBe(good);
  for (const bad of [undefined, '', 'x'.repeat(129), 'a b', 'a\n', 'é', 'a"b']) {
    expect(requestIdOf(bad)).toMatch(/^[0-9a-f-]{36}$/);
  }
  expect(newRequestId()).not.toBe(newRequestId());
});
