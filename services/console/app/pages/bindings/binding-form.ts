import type {
  AddBindingArgs,
  Binding,
  BindingAuthority,
  BindingCondition,
  BindingConditionInput,
  BindingType,
  Platform,
  PreviewBindingArgs,
  UpdateBindingArgs,
} from '#clients/typescript/src/operations-types.ts';
import { editorTexts as texts } from '../../texts.ts';

/** What a person has entered about a condition. Numbers are texts until they are sent. */
export interface ConditionForm {
  type: BindingType;
  groupId: string;
  minRank: string;
  maxRank: string;
  gamepassId: string;
  assetId: string;
  badgeId: string;
  platform: Platform;
  days: string;
}

/** What a person has entered about a binding, with its own condition. */
export interface BindingForm extends ConditionForm {
  roleId: string;
  priority: string;
  /** When members who do not match lose the role; empty if it is left to the default. */
  authority: BindingAuthority | '';
  nicknameTemplate: string;
  /** Further conditions, all of which must match as well. */
  conditions: readonly ConditionForm[];
}

/** The maximum number of further conditions of a binding. */
export const MAX_CONDITIONS = 5;

export const NEW_CONDITION: ConditionForm = {
  type: 'group_rank',
  groupId: '',
  minRank: '1',
  maxRank: '255',
  gamepassId: '',
  assetId: '',
  badgeId: '',
  platform: 'game',
  days: '30',
};

export const NEW_BINDING: BindingForm = {
  ...NEW_CONDITION,
  roleId: '',
  priority: '',
  authority: '',
  nicknameTemplate: '',
  conditions: [],
};

const textOf = (value: number | null) => (value === null ? '' : String(value));

/** The form of a stored binding. */
export function formOf(binding: Binding): BindingForm {
  return {
    ...conditionFormOf(binding),
    roleId: binding.chat_role_id,
    priority: textOf(binding.priority),
    authority: binding.authority ?? '',
    nicknameTemplate: binding.nickname_template ?? '',
    conditions: (binding.conditions ?? []).map(conditionFormOf),
  };
}

const conditionFormOf = (condition: BindingCondition): ConditionForm => ({
  type: condition.binding_type,
  groupId: textOf(condition.game_group_id),
  minRank: textOf(condition.min_rank),
  maxRank: textOf(condition.max_rank),
  gamepassId: textOf(condition.gamepass_id),
  assetId: textOf(condition.asset_id),
  badgeId: textOf(condition.badge_id),
  platform: condition.account_age_platform ?? 'game',
  days: textOf(condition.account_age_min_days),
});

export type ConditionFaults = Partial<Record<keyof ConditionForm, string>>;

export interface BindingFaults extends ConditionFaults {
  roleId?: string;
  priority?: string;
  /** By the index of a further condition; only present if one of them has faults. */
  conditions?: readonly ConditionFaults[];
}

const isId = (text: string) => /^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
const isWhole = (text: string, max: number) => /^[0-9]{1,6}$/.test(text) && Number(text) <= max;

/** What must be corrected before the binding can be previewed or saved. */
export function faultsOf(form: BindingForm): BindingFaults {
  const { roleId, priority } = form;
  const conditions = form.conditions.map(faultsOfType);
  const isPriority = priority === '' || /^-?[0-9]{1,9}$/.test(priority);
  return {
    ...(roleId === '' && { roleId: texts.faults.role }),
    ...(!isPriority && { priority: texts.faults.priority }),
    ...faultsOfType(form),
    ...(conditions.some((faults) => Object.keys(faults).length > 0) && { conditions }),
  };
}

function faultsOfType({
  type,
  groupId,
  minRank,
  maxRank,
  gamepassId,
  assetId,
  badgeId,
  days,
}: ConditionForm): ConditionFaults {
  const { faults } = texts;
  const range = isWhole(minRank, 255) && isWhole(maxRank, 255) && Number(maxRank) < Number(minRank);
  switch (type) {
    case 'group_rank':
      return {
        ...(!isId(groupId) && { groupId: faults.id }),
        ...(!isWhole(minRank, 255) && { minRank: faults.rank }),
        ...((range || !isWhole(maxRank, 255)) && { maxRank: range ? faults.range : faults.rank }),
      };
    case 'gamepass':
      return isId(gamepassId) ? {} : { gamepassId: faults.id };
    case 'asset':
      return isId(assetId) ? {} : { assetId: faults.id };
    case 'badge':
      return isId(badgeId) ? {} : { badgeId: faults.id };
    case 'verified':
    case 'unverified':
      return {};
    default:
      return isWhole(days, 36_500) ? {} : { days: faults.days };
  }
}

const priorityOf = ({ priority }: BindingForm) => (priority === '' ? null : Number(priority));

/** The request that adds the binding of a form without faults. */
export const addArgs = (form: BindingForm): AddBindingArgs => ({
  chat_role_id: form.roleId,
  ...(form.priority !== '' && { priority: priorityOf(form) }),
  ...(form.authority !== '' && { authority: form.authority }),
  ...(form.nicknameTemplate !== '' && { nickname_template: form.nicknameTemplate }),
  ...(form.conditions.length > 0 && { conditions: form.conditions.map(conditionArgs) }),
  ...conditionArgs(form),
});

function conditionArgs(form: ConditionForm): BindingConditionInput {
  switch (form.type) {
    case 'group_rank':
      return {
        binding_type: 'group_rank',
        game_group_id: form.groupId,
        min_rank: Number(form.minRank),
        max_rank: Number(form.maxRank),
      };
    case 'gamepass':
      return { binding_type: 'gamepass', game_gamepass_id: form.gamepassId };
    case 'asset':
      return { binding_type: 'asset', game_asset_id: form.assetId };
    case 'badge':
      return { binding_type: 'badge', game_badge_id: form.badgeId };
    case 'verified':
    case 'unverified':
      return { binding_type: form.type };
    default:
      return {
        binding_type: 'account_age',
        account_age_platform: form.platform,
        account_age_min_days: Number(form.days),
      };
  }
}

/** The request that previews a change of a stored binding. Conditions that are as stored are not sent. */
export function changeArgs(form: BindingForm, stored: Binding) {
  const conditions = form.conditions.map(conditionArgs);
  const before = formOf(stored).conditions.map(conditionArgs);
  return {
    binding_id: stored.id,
    ...(form.type === 'group_rank' && { min_rank: Number(form.minRank), max_rank: Number(form.maxRank) }),
    priority: priorityOf(form),
    ...(form.authority !== '' && { authority: form.authority }),
    ...(JSON.stringify(conditions) !== JSON.stringify(before) && { conditions }),
  };
}

/** The request that changes a stored binding. A nickname that is as stored is not sent. */
export function updateArgs(form: BindingForm, stored: Binding): UpdateBindingArgs {
  const isSame = form.nicknameTemplate === (stored.nickname_template ?? '');
  return {
    ...changeArgs(form, stored),
    ...(!isSame && { nickname_template: form.nicknameTemplate === '' ? null : form.nicknameTemplate }),
  };
}

/** The request that previews a new binding, or a change of a stored one. */
export const previewArgs = (form: BindingForm, stored: Binding | undefined): PreviewBindingArgs =>
  stored ? changeArgs(form, stored) : addArgs(form);

/** The request that adds a removed binding again. */
export const againArgs = (binding: Binding): AddBindingArgs => addArgs(formOf(binding));
