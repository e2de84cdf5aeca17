import { expect, test } from 'vitest';
import { storableJson } from './storable-json.ts';

test('what jsonb rejects, or writes with hundreds of digits, is replaced; the rest stays', () => {
  const value = { text: 'a\0b\ud800', big: [1e300, 1e-9], small: [1.5, -7, 1e20], words: 'v1e-2' };
  expect(JSON.parse(storableJson(value))).toEqual({
    text: 'a\ufffdb\ufffd',
    big: ['1e+300', '1e-9'],
    small: [1.5, -7, 1e20],
    words: 'v1e-2',
  });
});

test('each kind of unpaired surrogate is replaced alone, in texts and in names', () => {
  expect(JSON.parse(storableJson({ text: 'a\ud800' }))).toEqual({ text: 'a\ufffd' });
  expect(JSON.parse(storableJson({ text: 'a\udc00' }))).toEqual({ text: 'a\ufffd' });
  expect(JSON.parse(storableJson({ 'a\udfff': 1 }))).toEqual({ 'a\ufffd': 1 });
});
