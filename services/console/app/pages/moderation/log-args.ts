import type { ListModerationLogsArgs, ModerationAction } from '#clients/typescript/src/operations-types.ts';
import { actionTexts } from '../../texts.ts';
import { endOfDay, type Filters, startOfDay } from './filters.ts';

const PAGE_ROWS = 100;

/** The filters of the log as arguments of its route. */
export function logArgs({ player, moderator, action, from, to }: Filters): ListModerationLogsArgs {
  const [start, end] = [startOfDay(from), endOfDay(to)];
  const wanted = (Object.keys(actionTexts) as ModerationAction[]).find((name) => name === action);
  return {
    limit: PAGE_ROWS,
    ...(player && { game_id: player }),
    ...(moderator && { moderator_game_id: moderator }),
    ...(wanted && { action: wanted }),
    ...(start !== undefined && { from: start }),
    ...(end !== undefined && { to: end }),
  };
}
