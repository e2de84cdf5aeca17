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

/** What a person has entered about a binding. Numbers are texts until they are sent. */
export interface BindingForm {
  roleId: string;
  type: BindingType;
  groupId: string;
  minRank: string;
  maxRank: string;
  gamepassId: string;
  assetId: string;
  badgeId: string;
  platform: Platform;
  days: string;
  priority: string;
  /** When members who do not match lose the role; empty if it is left to the default. */
  authority: BindingAuthority | '';
  nicknameTemplate: string;
  /** Further conditions of a removed binding, which is added again with them. */
  conditions: readonly BindingConditionInput[];
}

export const NEW_BINDING: BindingForm = {
  roleId: '',
  type: 'group_rank',
  groupId: '',
  minRank: '1',
  maxRank: '255',
  gamepassId: '',
  assetId: '',
  badgeId: '',
  platform: 'game',
  days: '30',
  priority: '',
  authority: '',
  nicknameTemplate: '',
  conditions: [],
};

const textOf = (value: number | null) => (value === null ? '' : String(value));

/** The form of a stored binding. */
export function formOf(binding: Binding): BindingForm {
  return {
    roleId: binding.chat_role_id,
    type: binding.binding_type,
    groupId: textOf(binding.game_group_id),
    minRank: textOf(binding.min_rank),
    maxRank: textOf(binding.max_rank),
    gamepassId: textOf(binding.gamepass_id),
    assetId: textOf(binding.asset_id),
    badgeId: textOf(binding.badge_id),
    platform: binding.account_age_platform ?? 'game',
    days: textOf(binding.account_age_min_days),
    priority: textOf(binding.priority),
    authority: binding.authority ?? '',
    nicknameTemplate: binding.nickname_template ?? '',
    conditions: (binding.conditions ?? []).map(conditionInput),
  };
}

/** Converts a condition of a response to the form that requests have. */
const conditionInput = (condition: BindingCondition): BindingConditionInput =>
  conditionArgs(formOf({ ...condition, ...NO_BINDING }));

const NO_BINDING = { id: 0, chat_role_id: '', chat_role_name: null, game_group_name: null, priority: null };

export type BindingFaults = Partial<Record<keyof BindingForm, string>>;

const isId = (text: string) => /^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
const isWhole = (text: string, max: number) => /^[0-9]{1,6}$/.test(text) && Number(text) <= max;

/** What must be corrected before the binding can be previewed or saved. */
export function faultsOf(form: BindingForm): BindingFaults {
  const { roleId, priority } = form;
  const isPriority = priority === '' || /^-?[0-9]{1,9}$/.test(priority);
  return {
    ...(roleId === '' && { roleId: texts.faults.role }),
    ...(!isPriority && { priority: texts.faults.priority }),
    ...faultsOfType(form),
  };
}

function faultsOfType({ type, groupId, minRank, maxRank, gamepassId, assetId, badgeId, days }: BindingForm) {
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
  ...(form.conditions.length > 0 && { conditions: [...form.conditions] }),
  ...conditionArgs(form),
});

function conditionArgs(form: BindingForm): BindingConditionInput {
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

/** The request that changes a stored binding. */
export function updateArgs(form: BindingForm, id: number): UpdateBindingArgs {
  return {
    binding_id: id,
    ...(form.type === 'group_rank' && { min_rank: Number(form.minRank), max_rank: Number(form.maxRank) }),
    priority: priorityOf(form),
    ...(form.authority !== '' && { authority: form.authority }),
  };
}

/** The request that previews a new binding, or a change of a stored one. */
export const previewArgs = (form: BindingForm, id: number | undefined): PreviewBindingArgs =>
  id === undefined ? addArgs(form) : updateArgs(form, id);

/** The request that adds a removed binding again. */
export const againArgs = (binding: Binding): AddBindingArgs => addArgs(formOf(binding));
