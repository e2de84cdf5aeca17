import type { z } from 'zod';
import type { HttpHandlers } from '#kit/http/app.ts';
import { Authority, type Binding, type PlanBindingRequest } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { previewRoutes } from '#proto/rest/preview.ts';
import type { BindingPreviews } from '../domain/binding-previews.ts';

/** The handlers of the REST routes in proto/rest/preview.ts. */
export function previewHandlers({ previews }: { previews: BindingPreviews }): HttpHandlers<typeof previewRoutes> {
  return { previewBinding: ({ write, body }) => previews.start(write, planOf(body)) };
}

type PreviewBody = z.output<typeof previewRoutes.previewBinding.body & object>;

function planOf(body: PreviewBody): PlanBindingRequest['plan'] {
  const { binding_id: bindingId, min_rank: minRank, max_rank: maxRank } = body;
  const authority = body.authority && AUTHORITIES[body.authority];
  const conditions = body.conditions?.map((condition) => ({ target: targetOf(condition) }));
  if (bindingId !== undefined && body.remove) return { $case: 'removedBindingId', value: bindingId };
  if (bindingId !== undefined) {
    const changed = { bindingId, minRank, maxRank, authority, conditions: conditions && { conditions } };
    return { $case: 'changed', value: changed };
  }
  const added = {
    id: 0,
    chatRoleId: body.chat_role_id ?? '',
    target: targetOf(body),
    conditions: conditions ?? [],
    authority: authority ?? Authority.AUTHORITY_UNSPECIFIED,
  };
  return { $case: 'added', value: added };
}

const AUTHORITIES = {
  grant: Authority.AUTHORITY_GRANT,
  managed: Authority.AUTHORITY_MANAGED,
  own: Authority.AUTHORITY_OWN,
};

type ConditionBody = NonNullable<PreviewBody['conditions']>[number];

/** Returns the target of a new binding or condition. The request schema ensures that the fields of its type are present. */
function targetOf(body: Omit<ConditionBody, 'binding_type'> & Pick<PreviewBody, 'binding_type'>): Binding['target'] {
  switch (body.binding_type) {
    case 'group_rank': {
      const { game_group_id: gameGroupId = 0, min_rank: minRank = 0, max_rank: maxRank = 0 } = body;
      return { $case: 'groupRank', value: { gameGroupId, minRank, maxRank } };
    }
    case 'gamepass':
      return { $case: 'gamepassId', value: body.game_gamepass_id ?? 0 };
    case 'asset':
      return { $case: 'assetId', value: body.game_asset_id ?? 0 };
    case 'badge':
      return { $case: 'badgeId', value: body.game_badge_id ?? 0 };
    case 'verified':
    case 'unverified':
      return { $case: 'linked', value: body.binding_type === 'verified' };
    default: {
      const { account_age_platform: platform = '', account_age_min_days: minDays = 0 } = body;
      return { $case: 'accountAge', value: { platform, minDays } };
    }
  }
}
