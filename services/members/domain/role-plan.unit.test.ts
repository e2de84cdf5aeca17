import { expect, test } from 'vitest';
import type { ChatRole } from '#platforms/chat.ts';
import { planRoles, type RoleAuthority, type RoleSituation } from './role-plan.ts';

const role = (id: string, fields: Partial<ChatRole> = {}): ChatRole => ({
  id,
  name: id,
  position: 1,
  color: 0,
  managed: false,
  belowBot: true,
  isBotRole: false,
  assignable: true,
  ...fields,
});

type Verdict = 'wanted' | 'not_wanted' | 'unknown';

function plan(verdicts: Record<string, Verdict>, { held = [], granted = [], ...rest }: Partial<RoleSituation> = {}) {
  const guildRoles = [role('a'), role('b'), role('managed', { managed: true }), role('above', { belowBot: false })];
  return planRoles({ guildRoles, held, granted, verdicts: new Map(Object.entries(verdicts)), ...rest });
}

const nothing = { add: [], remove: [], unchanged: [], failed: [], forget: [], grant: [] };

test('a wanted role is assigned unless the member has it', () => {
  expect(plan({ a: 'wanted', b: 'wanted' }, { held: ['b'] })).toEqual({
    ...nothing,
    add: ['a'],
    grant: ['a'],
    unchanged: ['b'],
  });
});

test('without Manage Roles nothing is changed, and each role has a failure with the reason', () => {
  const guildRoles = [role('a', { assignable: false }), role('b', { assignable: false })];
  const { add, remove, failed } = plan({ a: 'wanted', b: 'not_wanted' }, { held: ['b'], guildRoles });
  expect([add, remove]).toEqual([[], []]);
  expect(failed).toMatchObject([
    { role_id: 'a', code: 'MISSING_PERMISSION', message: expect.stringContaining('Manage Roles') },
    { role_id: 'b', code: 'MISSING_PERMISSION' },
  ]);
});

test('a governed role that is not wanted is removed, even if a person assigned it', () => {
  expect(plan({ a: 'not_wanted', b: 'not_wanted' }, { held: ['a'] })).toEqual({ ...nothing, remove: ['a'] });
});

test('a role with an unknown verdict is neither assigned nor removed', () => {
  expect(plan({ a: 'unknown', b: 'unknown' }, { held: ['b'], granted: ['b'] })).toEqual({
    ...nothing,
    unchanged: ['b'],
  });
});

test('a role that no binding governs is removed only if a synchronisation assigned it', () => {
  expect(plan({}, { held: ['a', 'b'], granted: ['a'] })).toEqual({ ...nothing, remove: ['a'] });
});

test('a granted role that the member has lost is assigned again if wanted, otherwise its grant is deleted', () => {
  expect(plan({ a: 'wanted' }, { granted: ['a'] })).toEqual({ ...nothing, add: ['a'], grant: ['a'] });
  expect(plan({ a: 'not_wanted' }, { granted: ['a'] })).toEqual({ ...nothing, forget: ['a'] });
});

test('a role that the bot cannot change fails with a reason, but only if it would have to be changed', () => {
  const verdicts = { managed: 'wanted', above: 'not_wanted', gone: 'wanted' } as const;
  expect(plan(verdicts, { held: ['above'] }).failed.map(({ role_id, code }) => [role_id, code])).toEqual([
    ['managed', 'ROLE_MANAGED'],
    ['above', 'ROLE_ABOVE_BOT'],
    ['gone', 'ROLE_UNKNOWN'],
  ]);
  expect(plan({ managed: 'wanted', above: 'not_wanted' }, { held: ['managed'] }).failed).toEqual([]);
});

const rule = (authority: RoleAuthority, isLasting = false) => ({ rules: new Map([['a', { authority, isLasting }]]) });

test.each<[RoleAuthority, boolean, [other: boolean, granted: boolean]]>([
  ['grant', true, [false, false]],
  ['grant', false, [false, false]],
  ['managed', true, [false, true]],
  ['managed', false, [false, true]],
  ['own', true, [true, true]],
  ['own', false, [true, true]],
  [null, true, [true, true]],
  [null, false, [false, true]],
])('the authority %s decides who loses an unwanted role (verified: %s)', (authority, isVerified, expected) => {
  const removed = (granted: string[]) =>
    plan({ a: 'not_wanted' }, { held: ['a'], granted, isVerified, ...rule(authority) }).remove.length > 0;
  expect([removed([]), removed(['a'])]).toEqual(expected);
});

test('a role that only bindings with the authority grant give is not stored as assigned', () => {
  expect(plan({ a: 'wanted' }, rule('grant', true))).toEqual({ ...nothing, add: ['a'] });
  expect(plan({ a: 'wanted' }, rule('own'))).toEqual({ ...nothing, add: ['a'], grant: ['a'] });
});
