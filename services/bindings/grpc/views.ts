import {
  type Binding as BindingMessage,
  type BindingVerdict,
  Verdict as VerdictMessage,
} from '#proto/gen/guild/bindings/v1/bindings.ts';
import { type Binding, targetOf } from '../domain/binding.ts';
import type { RoleVerdict } from '../domain/evaluation.ts';
import type { Verdict } from '../domain/rules.ts';

/** Converts a role binding to its form in gRPC responses. */
export function bindingMessage(binding: Binding): BindingMessage {
  const { id, chatRoleId, priority } = binding;
  return { id, chatRoleId, priority: priority ?? undefined, target: targetMessage(binding) };
}

function targetMessage(binding: Binding): BindingMessage['target'] {
  const target = targetOf(binding);
  switch (target.kind) {
    case 'rank':
      return {
        $case: 'groupRank',
        value: { gameGroupId: target.groupId, minRank: target.min, maxRank: target.max },
      };
    case 'item':
      return { $case: `${target.item.kind}Id`, value: target.item.id };
    default:
      return { $case: 'accountAge', value: { platform: target.platform, minDays: target.minDays } };
  }
}

/** A role binding of a gRPC request, whose schema ensures that it has a target. */
type TargetedMessage = BindingMessage & { target: NonNullable<BindingMessage['target']> };

/** Converts a role binding of a gRPC request; fields that its type does not use become null. */
export function bindingOf({ id, chatRoleId, priority, target }: TargetedMessage): Binding {
  const empty = {
    id,
    chatRoleId,
    gameGroupId: null,
    minRank: null,
    maxRank: null,
    gamepassId: null,
    assetId: null,
    badgeId: null,
    accountAgePlatform: null,
    accountAgeMinDays: null,
    priority: priority ?? null,
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

const VERDICTS = {
  wanted: VerdictMessage.VERDICT_WANTED,
  not_wanted: VerdictMessage.VERDICT_NOT_WANTED,
  unknown: VerdictMessage.VERDICT_UNKNOWN,
} satisfies Record<Verdict, VerdictMessage>;

/**
 * Converts the verdict on a role to its form in gRPC responses. With `rolesOnly` the verdicts of the single role
 * bindings are left out.
 */
export function roleVerdictMessage({ chatRoleId, verdict, bindings }: RoleVerdict, rolesOnly: boolean) {
  const single = ({ bindingId, verdict, reason, code }: RoleVerdict['bindings'][number]): BindingVerdict => ({
    bindingId,
    verdict: VERDICTS[verdict],
    reason,
    code,
  });
  return { chatRoleId, verdict: VERDICTS[verdict], bindings: rolesOnly ? [] : bindings.map(single) };
}
