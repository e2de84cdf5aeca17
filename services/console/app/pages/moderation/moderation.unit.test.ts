import { expect, test } from 'vitest';
import type { Punishment } from '#clients/typescript/src/operations-types.ts';
import { relativeTime } from '../../components/time.tsx';
import { personOfId } from '../people/accounts.ts';
import { endOfDay, FILTERS, type Filters, startOfDay, tabOf } from './filters.ts';
import { logArgs } from './log-args.ts';
import { faultsOfPunish, lengthText, type PunishForm, requestOfPunish } from './punish-form.ts';
import { restored } from './punishments.ts';

const WEEK = 7 * 86_400;
const form: PunishForm = {
  person: personOfId('7001'),
  duration: WEEK,
  reason: ' Spam ',
  isEverywhere: true,
  placeId: '',
  isReplacing: false,
};

const noFilters = Object.fromEntries(FILTERS.map((name) => [name, ''])) as Filters;

const ban: Punishment = {
  id: 1,
  game_id: 7001,
  game_username: 'AdaBuilds',
  reason: 'Spam',
  moderator_game_id: null,
  moderator_chat_id: '920000000000000002',
  scope: 'place',
  place_id: 11,
  created_at: 1_000,
  expires_at: 1_000 + WEEK,
  is_permanent: false,
  source_server_id: null,
};

test('a ban for a week is sent with its seconds and the reason without spaces around it', () => {
  expect(faultsOfPunish(form)).toEqual({});
  expect(requestOfPunish(form, 7001)).toEqual({
    game_id: 7001,
    game_username: null,
    reason: 'Spam',
    duration: WEEK,
    scope: 'global',
  });
});

test('a ban without an end in one place, in place of another, says so', () => {
  const request = requestOfPunish(
    { ...form, duration: null, isEverywhere: false, placeId: '11', isReplacing: true },
    7001,
  );
  expect(request).toMatchObject({ duration: 'permanent', scope: 'place', place_id: 11, replace: true });
});

test('a ban needs a player with a game account, a reason, and the place if it is for one place', () => {
  const faults = faultsOfPunish({ ...form, person: undefined, reason: ' ', isEverywhere: false });
  expect(Object.keys(faults).sort()).toEqual(['person', 'place', 'reason']);
  expect(faultsOfPunish({ ...form, person: personOfId('920000000000000001') })).toHaveProperty('person');
});

test('lengths and ends are written as a person says them', () => {
  expect([lengthText(WEEK), lengthText(3_600), lengthText(null)]).toEqual(['for 1 week', 'for 1 hour', 'permanently']);
  expect(relativeTime(1_000 + WEEK, 1_002)).toBe('in 7 days');
  expect(relativeTime(1_000 + 6 * 86_400, 1_000)).toBe('in 6 days');
});

test('a lifted ban comes back with the time that it had left, where it applied', () => {
  expect(restored(ban, 1_000 + WEEK - 60)).toMatchObject({ duration: 60, scope: 'place', place_id: 11 });
  expect(restored({ ...ban, expires_at: null, is_permanent: true })).toMatchObject({ duration: 'permanent' });
  expect(restored(ban, 1_000 + WEEK)).toBeUndefined();
});

test('filters of the log are taken from the URL, and values that are none are left out', () => {
  const filters = {
    ...noFilters,
    player: '7001',
    moderator: '7002',
    action: 'ban',
    from: '2026-11-01',
    to: '2026-11-01',
  };
  const args = logArgs(filters);
  expect(args).toMatchObject({ game_id: '7001', moderator_game_id: '7002', action: 'ban' });
  expect((args.to ?? 0) - (args.from ?? 0)).toBe(86_399);
  expect(logArgs({ ...noFilters, action: 'drop', from: 'yesterday' })).toEqual({ limit: 100 });
  expect([tabOf(noFilters), tabOf({ ...noFilters, tab: 'log' }), tabOf({ ...noFilters, tab: 'x' })]).toEqual([
    'bans',
    'log',
    'bans',
  ]);
});

test('days that do not exist are no filter', () => {
  expect([startOfDay('2026-99-01'), endOfDay('')]).toEqual([undefined, undefined]);
});
