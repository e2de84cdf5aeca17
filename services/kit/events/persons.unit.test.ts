import { expect, test } from 'vitest';
import { personsIn } from './persons.ts';

test('the accounts of an event are its persons, and words in the same fields are not', () => {
  const command = { target: { game_id: 7001 }, issued_by: 'operator', payload: { moderator_game_id: 7002 } };
  expect(personsIn({ type: 'command.finished', data: command })).toEqual(['game:7001', 'game:7002']);
  const decision = { target: null, issued_by: '920000000000000001', payload: {} };
  expect(personsIn({ type: 'command.finished', data: decision })).toContain('chat:920000000000000001');
});
