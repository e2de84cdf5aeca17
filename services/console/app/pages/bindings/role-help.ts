import type { Role } from '#clients/typescript/src/operations-types.ts';
import { roleHelpTexts as texts } from '../../texts.ts';

/** Why the bot cannot assign a role, in a few words; undefined if it can. */
export function reasonOf({ assignable, managed }: Role): string | undefined {
  if (assignable) return undefined;
  return managed ? texts.managed : texts.tooHigh;
}

/**
 * What to do so that the bot can assign more roles; undefined if it can assign all that it ever can. The bot's role is
 * named if it is certain: then it is the only managed role above all that the bot can assign.
 */
export function adviceOf(roles: readonly Role[]): string | undefined {
  if (!roles.some(({ assignable, managed }) => !assignable && !managed)) return undefined;
  const highest = Math.max(0, ...roles.filter(({ assignable }) => assignable).map(({ position }) => position));
  const candidates = roles.filter(({ managed, position }) => managed && position > highest);
  const [only] = candidates;
  return texts.drag(candidates.length === 1 && only ? texts.named(only.name) : texts.botRole);
}
