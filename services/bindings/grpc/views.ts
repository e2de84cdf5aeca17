import {
  Authority as AuthorityMessage,
  type Binding as BindingMessage,
  type BindingVerdict,
  type MemberVerdicts as MemberVerdictsMessage,
  type RoleVerdict as RoleVerdictMessage,
  Verdict as VerdictMessage,
} from '#proto/gen/guild/bindings/v1/bindings.ts';
import { type Authority, AUTHORITIES as NAMES } from '#proto/rest/bindings.ts';
import { type Binding, type Condition, targetOf } from '../domain/binding.ts';
import type { MemberVerdicts, RoleVerdict } from '../domain/evaluation.ts';
import type { Verdict } from '../domain/rules.ts';

const AUTHORITIES = {
  grant: AuthorityMessage.AUTHORITY_GRANT,
  managed: AuthorityMessage.AUTHORITY_MANAGED,
  own: AuthorityMessage.AUTHORITY_OWN,
} satisfies Record<Authority, AuthorityMessage>;

const authorityMessage = (authority: Authority | null): AuthorityMessage =>
  authority === null ? AuthorityMessage.AUTHORITY_UNSPECIFIED : AUTHORITIES[authority];

/** Converts an authority of a gRPC request; null if none was chosen. */
export const authorityOf = (message: AuthorityMessage): Authority | null =>
  NAMES.find((name) => AUTHORITIES[name] === message) ?? null;

/** Converts a role binding to its form in gRPC responses. */
export function bindingMessage(binding: Binding): BindingMessage {
  const { id, chatRoleId, priority, conditions, authority, nicknameTemplate } = binding;
  return {
    id,
    chatRoleId,
    priority: priority ?? undefined,
    target: targetMessage(binding),
    conditions: conditions.map((condition) => ({ target: targetMessage(condition) })),
    authority: authorityMessage(authority),
    nicknameTemplate: nicknameTemplate ?? undefined,
  };
}

function targetMessage(condition: Condition): BindingMessage['target'] {
  const target = targetOf(condition);
  switch (target.kind) {
    case 'rank':
      return {
        $case: 'groupRank',
        value: { gameGroupId: target.groupId, minRank: target.min, maxRank: target.max },
      };
    case 'item':
      return { $case: `${target.item.kind}Id`, value: target.item.id };
    case 'link':
      return { $case: 'linked', value: target.linked };
    default:
      return { $case: 'accountAge', value: { platform: target.platform, minDays: target.minDays } };
  }
}

/** The target of a gRPC request, whose schema ensures that there is one. */
type TargetMessage = NonNullable<BindingMessage['target']>;

/** A role binding of a gRPC request. */
export interface PlannedMessage {
  id: number;
  chatRoleId: string;
  priority?: number | undefined;
  target: TargetMessage;
  conditions: readonly { target: TargetMessage }[];
  authority: AuthorityMessage;
  nicknameTemplate?: string | undefined;
}

/** Converts a role binding of a gRPC request; fields that its type does not use become null. */
export const bindingOf = (message: PlannedMessage): Binding => ({
  ...conditionOf(message),
  id: message.id,
  chatRoleId: message.chatRoleId,
  priority: message.priority ?? null,
  conditions: message.conditions.map(conditionOf),
  authority: authorityOf(message.authority),
  nicknameTemplate: message.nicknameTemplate ?? null,
});

/** Converts a condition of a gRPC request; fields that its type does not use become null. */
export function conditionOf({ target }: { target: TargetMessage }): Condition {
  const empty = {
    gameGroupId: null,
    minRank: null,
    maxRank: null,
    gamepassId: null,
    assetId: null,
    badgeId: null,
    accountAgePlatform: null,
    accountAgeMinDays: null,
  };
  switch (target.$case) {
    case 'groupRank':
      return { ...empty, type: 'group_rank', ...target.value };
    case 'gamepassId':
      return { ...empty, type: 'gamepass', gamepassId: target.value };
    case 'assetId':
      return { ...empty, type: 'asset', assetId: target.value };
    case 'badgeId':
      return { ...empty, type: 'badge', badgeId: target.value };
    case 'linked':
      return { ...empty, type: target.value ? 'verified' : 'unverified' };
    default: {
      const { platform, minDays } = target.value;
      return {
        ...empty,
        type: 'account_age',
        accountAgePlatform: platform === 'game' ? 'game' : 'chat',
        accountAgeMinDays: minDays,
      };
    }
  }
}

/** Returns the fields of gRPC responses with the nickname of a member. */
export const nicknameFields = (
  nickname: MemberVerdicts['nickname'],
): Pick<MemberVerdictsMessage, 'nicknameTemplate' | 'nicknameGroupId' | 'nicknameUnknown'> => {
  if (nickname === 'unknown') {
    return { nicknameTemplate: undefined, nicknameGroupId: undefined, nicknameUnknown: true };
  }
  return {
    nicknameTemplate: nickname?.template,
    nicknameGroupId: nickname?.groupId ?? undefined,
    nicknameUnknown: undefined,
  };
};

const VERDICTS = {
  wanted: VerdictMessage.VERDICT_WANTED,
  not_wanted: VerdictMessage.VERDICT_NOT_WANTED,
  unknown: VerdictMessage.VERDICT_UNKNOWN,
} satisfies Record<Verdict, VerdictMessage>;

/**
 * Converts the verdict on a role to its form in gRPC responses. With `rolesOnly` the verdicts of the single role
 * bindings are left out.
 */
export function roleVerdictMessage(role: RoleVerdict, rolesOnly: boolean): RoleVerdictMessage {
  const { chatRoleId, verdict, bindings, authority, isLasting } = role;
  const single = ({ bindingId, verdict, reason, code }: RoleVerdict['bindings'][number]): BindingVerdict => ({
    bindingId,
    verdict: VERDICTS[verdict],
    reason,
    code,
  });
  return {
    chatRoleId,
    verdict: VERDICTS[verdict],
    bindings: rolesOnly ? [] : bindings.map(single),
    authority: authorityMessage(authority),
    lasting: isLasting,
  };
}
