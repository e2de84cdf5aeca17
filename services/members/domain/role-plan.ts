import type { ChatRole } from '#platforms/chat.ts';

/** Why a role could not be given or taken. */
export interface RoleFailure {
  role_id: string;
  code: 'ROLE_ABOVE_BOT' | 'ROLE_MANAGED' | 'ROLE_UNKNOWN' | 'MISSING_PERMISSION' | 'PLATFORM_ERROR';
  /** A sentence for a person. */
  message: string;
}

/** By role ID, what the bindings say of every role that they govern. */
export type RoleVerdicts = ReadonlyMap<string, 'wanted' | 'not wanted' | 'unknown'>;

/** What is known of a member when its roles are weighed; roles are IDs. */
export interface RoleSituation {
  guildRoles: readonly ChatRole[];
  held: readonly string[];
  /** What a sync has given. */
  granted: readonly string[];
  verdicts: RoleVerdicts;
}

/** What is to be done; roles are IDs. */
export interface RolePlan {
  add: string[];
  remove: string[];
  /** Roles of bindings that the member keeps. */
  unchanged: string[];
  /** What the bot can't give or take. */
  failed: RoleFailure[];
  /** What was given once, and is gone without us. */
  forget: string[];
}

/**
 * A role is given if a binding wants it. It is taken if no binding wants it and none is unknown, and a binding governs
 * it or a sync gave it.
 */
export function planRoles({ guildRoles, held, granted, verdicts }: RoleSituation): RolePlan {
  const plan: RolePlan = { add: [], remove: [], unchanged: [], failed: [], forget: [] };
  for (const roleId of new Set([...verdicts.keys(), ...granted])) {
    const verdict = verdicts.get(roleId) ?? 'not wanted';
    const isHeld = held.includes(roleId);
    const isRight = verdict === 'unknown' || isHeld === (verdict === 'wanted');
    const failure = isRight ? undefined : failureOf(roleId, guildRoles);
    if (failure) plan.failed.push(failure);
    else if (!isRight) (isHeld ? plan.remove : plan.add).push(roleId);
    else if (isHeld) plan.unchanged.push(roleId);
    if (!isHeld && verdict !== 'wanted' && granted.includes(roleId)) plan.forget.push(roleId);
  }
  return plan;
}

const NO_MANAGE_ROLES = 'The bot lacks the permission Manage Roles in this guild';

/** Why the bot can't give or take a role; undefined where it can. */
function failureOf(roleId: string, guildRoles: readonly ChatRole[]): RoleFailure | undefined {
  const role = guildRoles.find(({ id }) => id === roleId);
  if (!role) return { role_id: roleId, code: 'ROLE_UNKNOWN', message: 'The guild has no such role any more' };
  const { name, managed, belowBot, assignable } = role;
  if (managed) return { role_id: roleId, code: 'ROLE_MANAGED', message: `The role ${name} belongs to an integration` };
  if (belowBot) {
    return assignable ? undefined : { role_id: roleId, code: 'MISSING_PERMISSION', message: NO_MANAGE_ROLES };
  }
  return { role_id: roleId, code: 'ROLE_ABOVE_BOT', message: `The role ${name} is not below the bot's highest role` };
}
