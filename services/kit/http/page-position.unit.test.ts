import { expect, test } from 'vitest';
import { positionCodec } from './page-position.ts';

const codec = positionCodec({ updatedAt: /[0-9]{1,16}/, chatId: /[0-9]{17,20}/ });

test('a position has the same fields after writing and reading it', () => {
  const text = codec.write({ updatedAt: 1_767_225_600_000, chatId: '900000000000000001' });
  expect(text).toBe('1767225600000_900000000000000001');
  expect(codec.read(text)).toEqual({ updatedAt: '1767225600000', chatId: '900000000000000001' });
});

test.each(['', '1', '1_2', 'x_900000000000000001', '1_900000000000000001_3', '1_900000000000000001\n'])(
  'the text %j, which no page returned, is rejected with 400',
  (text) => {
    expect(() => codec.read(text)).toThrow(
      expect.objectContaining({
        code: 'INVALID_REQUEST',
        details: { errors: [{ path: 'request.position', message: 'is not a next_position of this list' }] },
      }),
    );
  },
);

test('a list can name its own request field in the error', () => {
  const own = positionCodec({ id: /[0-9]+/ }, { path: 'request.cursor', message: 'is not a next_cursor of this list' });
  expect(() => own.read('x')).toThrow('request.cursor is not a next_cursor of this list');
});
