import { expect, test } from 'vitest';
import type { ChatRole } from '#platforms/chat.ts';
import { planRoles, type RoleSituation } from './role-plan.ts';

const role = (id: string, fields: Partial<ChatRole> = {}): ChatRole => ({
  id,
  name: id,
  position: 1,
  color: 0,
  managed: false,
  belowBot: true,
  assignable: true,
  ...fields,
});

type Verdict = 'wanted' | 'not wanted' | 'unknown';

function plan(verdicts: Record<string, Verdict>, { held = [], granted = [], ...rest }: Partial<RoleSituation> = {}) {
  const guildRoles = [role('a'), role('b'), role('managed', { managed: true }), role('above', { belowBot: false })];
  return planRoles({ guildRoles, held, granted, verdicts: new Map(Object.entries(verdicts)), ...rest });
}

const nothing = { add: [], remove: [], unchanged: [], failed: [], forget: [] };

test('what is wanted is given, and kept where it is there', () => {
  expect(plan({ a: 'wanted', b: 'wanted' }, { held: ['b'] })).toEqual({ ...nothing, add: ['a'], unchanged: ['b'] });
});

test('a bot without Manage Roles changes nothing, and each role says why', () => {
  const guildRoles = [role('a', { assignable: false }), role('b', { assignable: false })];
  const { add, remove, failed } = plan({ a: 'wanted', b: 'not wanted' }, { held: ['b'], guildRoles });
  expect([add, remove]).toEqual([[], []]);
  expect(failed).toMatchObject([
    { role_id: 'a', code: 'MISSING_PERMISSION', message: expect.stringContaining('Manage Roles') },
    { role_id: 'b', code: 'MISSING_PERMISSION' },
  ]);
});

test('what is not wanted is taken, whoever gave it, since a binding governs it', () => {
  expect(plan({ a: 'not wanted', b: 'not wanted' }, { held: ['a'] })).toEqual({ ...nothing, remove: ['a'] });
});

test('what is unknown is neither given nor taken', () => {
  expect(plan({ a: 'unknown', b: 'unknown' }, { held: ['b'], granted: ['b'] })).toEqual({
    ...nothing,
    unchanged: ['b'],
  });
});

test('what no binding governs is taken if a sync gave it, and else left alone', () => {
  expect(plan({}, { held: ['a', 'b'], granted: ['a'] })).toEqual({ ...nothing, remove: ['a'] });
});

test('what was given and is gone is given again if wanted, else forgotten', () => {
  expect(plan({ a: 'wanted' }, { granted: ['a'] })).toEqual({ ...nothing, add: ['a'] });
  expect(plan({ a: 'not wanted' }, { granted: ['a'] })).toEqual({ ...nothing, forget: ['a'] });
});

test('what the bot can not give or take fails with a reason, and only where it would have to', () => {
  const verdicts = { managed: 'wanted', above: 'not wanted', gone: 'wanted' } as const;
  expect(plan(verdicts, { held: ['above'] }).failed.map(({ role_id, code }) => [role_id, code])).toEqual([
    ['managed', 'ROLE_MANAGED'],
    ['above', 'ROLE_ABOVE_BOT'],
    ['gone', 'ROLE_UNKNOWN'],
  ]);
  expect(plan({ managed: 'wanted', above: 'not wanted' }, { held: ['managed'] }).failed).toEqual([]);
});
