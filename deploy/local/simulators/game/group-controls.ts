import { z } from 'zod';
import { parse } from '../parse.ts';
import type { Control } from '../routes.ts';
import { done } from '../routes.ts';
import type { World } from '../world.ts';
import { gameId } from '../world-schema.ts';

const ranksSchema = z.strictObject({ group: gameId, user: gameId, ranks: z.array(z.int().min(1).max(255)) });

/** The control that changes the ranks of a user in a group, as an officer of the group would. */
export function groupControls(world: World): Control[] {
  const setRanks = done((call) => {
    const { user, group, ranks } = parse(ranksSchema, call);
    world.setRanks(user, group, ranks);
  });
  return [{ method: 'POST', pattern: '/__ranks', handle: setRanks }];
}
