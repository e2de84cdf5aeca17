import { expect, test } from 'vitest';
import type { FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { candidates, idOfPerson, isChatId, isGameId, nameOfPerson, personOfId } from './accounts.ts';

const ada: FoundPerson = {
  chat_id: '920000000000000001',
  chat_username: 'ada',
  nickname: null,
  game_id: 7001,
  game_username: 'AdaBuilds',
};

test('IDs of the two platforms are never confused', () => {
  expect([isChatId('920000000000000001'), isGameId('920000000000000001')]).toEqual([true, false]);
  expect([isChatId('7001'), isGameId('7001')]).toEqual([false, true]);
  expect(['0', '01', '', 'ada', '9999999999999999'].map((text) => isGameId(text))).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
});

test('a person has the best known name, and the page of the game account if there is one', () => {
  expect(nameOfPerson(ada)).toBe('AdaBuilds');
  expect(nameOfPerson({ ...ada, nickname: 'Ada' })).toBe('Ada');
  expect(nameOfPerson(personOfId('7009'))).toBe('7009');
  expect(idOfPerson(ada)).toBe('7001');
  expect(idOfPerson({ ...ada, game_id: null })).toBe('920000000000000001');
});

test('an ID that no platform knows can be chosen too, but not a name', () => {
  expect(candidates('7009', [])).toEqual([personOfId('7009')]);
  expect(candidates('920000000000000099', [])).toEqual([personOfId('920000000000000099')]);
  expect(candidates('ada', [])).toEqual([]);
  expect(candidates('7001', [ada])).toEqual([ada]);
});
