import { expect, test } from 'vitest';
import type { Binding, Role, SyncJob } from '#clients/typescript/src/operations-types.ts';
import { previewTexts } from '../../texts.ts';
import {
  addArgs,
  type BindingForm,
  faultsOf,
  formOf,
  NEW_BINDING,
  NEW_CONDITION,
  previewArgs,
  updateArgs,
} from './binding-form.ts';
import { conditionOf } from './describe.ts';
import { effectOf } from './effect.ts';
import { adviceOf, reasonOf } from './role-help.ts';

const ROLE = '910000000000000001';

const officer: Binding = {
  id: 3,
  chat_role_id: ROLE,
  chat_role_name: 'Officer',
  binding_type: 'group_rank',
  game_group_id: 501,
  game_group_name: 'Harbor Crew',
  min_rank: 50,
  max_rank: 99,
  gamepass_id: null,
  asset_id: null,
  badge_id: null,
  account_age_platform: null,
  account_age_min_days: null,
  priority: 5,
};

const role = (name: string, position: number, more: Partial<Role> = {}): Role => ({
  id: `9100000000000000${position}`,
  name,
  position,
  color: 0,
  managed: false,
  assignable: true,
  ...more,
});

const rank: BindingForm = { ...NEW_BINDING, roleId: ROLE, groupId: '501', minRank: '50', maxRank: '99' };

test('each type sends the fields that it needs, and no others', () => {
  const sent = (form: Partial<BindingForm>) => addArgs({ ...rank, ...form });
  expect(sent({})).toEqual({
    chat_role_id: ROLE,
    binding_type: 'group_rank',
    game_group_id: '501',
    min_rank: 50,
    max_rank: 99,
  });
  expect(sent({ type: 'gamepass', gamepassId: '601', priority: '-2' })).toEqual({
    chat_role_id: ROLE,
    binding_type: 'gamepass',
    game_gamepass_id: '601',
    priority: -2,
  });
  expect(sent({ type: 'asset', assetId: '701' })).toMatchObject({ binding_type: 'asset', game_asset_id: '701' });
  expect(sent({ type: 'badge', badgeId: '801' })).toMatchObject({ binding_type: 'badge', game_badge_id: '801' });
  expect(sent({ type: 'account_age', days: '30' })).toMatchObject({
    account_age_platform: 'game',
    account_age_min_days: 30,
  });
});

test('a removed binding is added again with its conditions, authority and template', () => {
  const removed: Binding = {
    ...officer,
    binding_type: 'verified',
    authority: 'own',
    nickname_template: '{game_username}',
    conditions: [{ ...officer, binding_type: 'gamepass', gamepass_id: 601 }],
  };
  expect(addArgs(formOf(removed))).toEqual({
    chat_role_id: ROLE,
    binding_type: 'verified',
    priority: 5,
    authority: 'own',
    nickname_template: '{game_username}',
    conditions: [{ binding_type: 'gamepass', game_gamepass_id: '601' }],
  });
});

test('a stored binding sends only what can be changed', () => {
  const form = { ...formOf(officer), maxRank: '255', priority: '' };
  expect(updateArgs(form, officer)).toEqual({ binding_id: 3, min_rank: 50, max_rank: 255, priority: null });
  expect(previewArgs(form, officer)).toEqual({ binding_id: 3, min_rank: 50, max_rank: 255, priority: null });
});

test('a stored binding sends its conditions and its nickname only if they were changed; removing all sends none', () => {
  const stored: Binding = {
    ...officer,
    binding_type: 'verified',
    nickname_template: 'x',
    conditions: [{ ...officer, binding_type: 'badge', badge_id: 801 }],
  };
  const form = formOf(stored);
  expect(updateArgs(form, stored)).toEqual({ binding_id: 3, priority: 5 });
  const more = { ...form, conditions: [...form.conditions, { ...NEW_CONDITION, groupId: '501' }] };
  const badge = { binding_type: 'badge', game_badge_id: '801' };
  const group = { binding_type: 'group_rank', game_group_id: '501', min_rank: 1, max_rank: 255 };
  expect(previewArgs(more, stored)).toEqual({ binding_id: 3, priority: 5, conditions: [badge, group] });
  expect(updateArgs({ ...form, conditions: [], nicknameTemplate: '' }, stored)).toEqual({
    binding_id: 3,
    priority: 5,
    conditions: [],
    nickname_template: null,
  });
});

test('faults name the fields to correct', () => {
  const conditions = [{ ...NEW_CONDITION, groupId: '501' }, NEW_CONDITION];
  expect(faultsOf({ ...rank, conditions })).toEqual({
    conditions: [{}, { groupId: 'Enter the number, digits only.' }],
  });
  expect(faultsOf(rank)).toEqual({});
  expect(Object.keys(faultsOf(NEW_BINDING)).sort()).toEqual(['groupId', 'roleId']);
  expect(faultsOf({ ...rank, minRank: '100' })).toEqual({ maxRank: 'The highest rank must not be below the lowest.' });
  expect(Object.keys(faultsOf({ ...rank, minRank: '256', maxRank: 'x' }))).toEqual(['minRank', 'maxRank']);
  expect(Object.keys(faultsOf({ ...rank, type: 'badge', priority: '1.5' }))).toEqual(['priority', 'badgeId']);
});

test('conditions are sentences with names', () => {
  const sentences = [
    officer,
    { ...officer, max_rank: 255 },
    { ...officer, min_rank: 1, max_rank: 255 },
    { ...officer, min_rank: 60, max_rank: 60, game_group_name: null },
    { ...officer, binding_type: 'gamepass' as const, gamepass_id: 601 },
    {
      ...officer,
      binding_type: 'account_age' as const,
      account_age_platform: 'chat' as const,
      account_age_min_days: 1,
    },
    {
      ...officer,
      binding_type: 'unverified' as const,
      conditions: [{ ...officer, binding_type: 'verified' as const }],
    },
  ].map(conditionOf);
  expect(sentences).toEqual([
    'Rank 50 to 99 in Harbor Crew',
    'Rank 50 or higher in Harbor Crew',
    'Any member of Harbor Crew',
    'Rank 60 in group 501',
    'Owns game pass 601',
    'Chat account is at least 1 day old',
    'Has no linked game account; and Has a linked game account',
  ]);
});

test('the role to drag is named only if it is certain which one is the bot’s', () => {
  const captain = role('Captain', 7);
  const bot = role('Guild Data', 8, { managed: true, assignable: false });
  const top = role('Harbormaster', 9, { assignable: false });
  expect(adviceOf([captain])).toBeUndefined();
  expect(adviceOf([captain, bot])).toBeUndefined();
  expect(adviceOf([captain, bot, top])).toContain('“Guild Data”');
  const other = role('Music', 10, { managed: true, assignable: false });
  expect(adviceOf([captain, bot, top, other])).toContain('the bot’s own role');
  expect(reasonOf(captain)).toBeUndefined();
  expect(reasonOf(top)).toBe('Too high for the bot.');
  expect(reasonOf(bot)).toContain('another integration');
});

test('a finished preview is told in one sentence', () => {
  expect(previewTexts.sentence(12, 3, 'Member')).toBe('12 gain Member, 3 lose it.');
  expect(previewTexts.sentence(1, 0, 'Member')).toBe('1 gains Member.');
  expect(previewTexts.sentence(0, 2, 'Member')).toBe('2 lose Member.');
  expect(previewTexts.sentence(0, 0, 'Member')).toBe('Nobody gains or loses Member.');
});

test('a preview is about its role, and has an effect only when it is finished', () => {
  const job: SyncJob = {
    state: 'done',
    total: 3,
    done: 3,
    changed: 0,
    failed: 0,
    errors: [],
    started_at: 1,
    finished_at: 2,
    result: {
      roles: [{ role_id: ROLE, gained: 1, lost: 0, unknown: 2 }],
      members: [{ chat_id: '920000000000000001', username: 'ada', role_id: ROLE, change: 'gained' }],
    },
  };
  expect(effectOf(job, ROLE)).toMatchObject({ gained: 1, lost: 0, unknown: 2, members: [{ username: 'ada' }] });
  expect(effectOf(job, '910000000000000009')).toMatchObject({ gained: 0, lost: 0, members: [] });
  expect(effectOf({ ...job, state: 'running' }, ROLE)).toBeUndefined();
});
