import type { ChatRole } from '#platforms/chat.ts';

/** A role that could not be assigned or removed, and the reason. */
export interface RoleFailure {
  role_id: string;
  code: 'ROLE_ABOVE_BOT' | 'ROLE_MANAGED' | 'ROLE_UNKNOWN' | 'MISSING_PERMISSION' | 'PLATFORM_ERROR';
  /** The reason why the role could not be changed, as a sentence for people. */
  message: string;
}

/** The changes made to a member's roles: IDs of assigned and removed roles, and the roles that could not be changed. */
export interface Changes {
  added: string[];
  removed: string[];
  failed: RoleFailure[];
}

/** When a role is removed from a member who should not have it; null if the guild has not chosen. */
export type RoleAuthority = 'grant' | 'managed' | 'own' | null;

/** What the role bindings of a role say besides the verdict. */
export interface RoleRule {
  authority: RoleAuthority;
  /** True if the role is wanted, but must not be stored as assigned, so that no synchronisation removes it later. */
  isLasting: boolean;
}

/**
 * By chat role ID, whether the member should have the role according to the guild's role bindings. Contains each chat
 * role that has a role binding.
 */
export type RoleVerdicts = ReadonlyMap<string, 'wanted' | 'not_wanted' | 'unknown'>;

/**
 * The facts from which a member's role changes are planned. The items of `held` and `granted` and the keys of
 * `verdicts` are role IDs.
 */
export interface RoleSituation {
  guildRoles: readonly ChatRole[];
  held: readonly string[];
  /** IDs of the roles that an earlier synchronisation assigned to the member. */
  granted: readonly string[];
  verdicts: RoleVerdicts;
  /** By chat role ID; a role that is missing here has no authority and is not lasting. */
  rules?: ReadonlyMap<string, RoleRule>;
  /** True if a game account is linked to the member. */
  isVerified?: boolean;
}

/** The role changes that a synchronisation of a member will make. Roles are given by ID. */
export interface RolePlan {
  add: string[];
  remove: string[];
  /** The roles that the member has and keeps, of those that the plan considers. */
  unchanged: string[];
  /** Roles that the bot cannot assign or remove. */
  failed: RoleFailure[];
  /**
   * Roles that an earlier synchronisation assigned and that the member has lost in another way. Their entries among the
   * assigned roles have to be deleted.
   */
  forget: string[];
  /** Those of the roles to add whose assignment is stored, because a later synchronisation may remove them. */
  grant: string[];
}

/**
 * Plans a member's role changes. A role is assigned if the verdict is `wanted`. A role is removed if the verdict is
 * `not_wanted` and the authority of its bindings allows it, or if an earlier synchronisation assigned it and no role
 * binding names it any more. A role whose verdict is `unknown` is not changed.
 */
export function planRoles(situation: RoleSituation): RolePlan {
  const { guildRoles, held, granted, verdicts, rules } = situation;
  const plan: RolePlan = { add: [], remove: [], unchanged: [], failed: [], forget: [], grant: [] };
  for (const roleId of new Set([...verdicts.keys(), ...granted])) {
    const verdict = verdicts.get(roleId) ?? 'not_wanted';
    const isHeld = held.includes(roleId);
    const staysHeld = isHeld && verdict === 'not_wanted' && !mayRemove(roleId, situation);
    const isCorrect = verdict === 'unknown' || staysHeld || isHeld === (verdict === 'wanted');
    const failure = isCorrect ? undefined : failureOf(roleId, guildRoles);
    if (failure) plan.failed.push(failure);
    else if (!isCorrect) (isHeld ? plan.remove : plan.add).push(roleId);
    else if (isHeld) plan.unchanged.push(roleId);
    if (!isHeld && verdict !== 'wanted' && granted.includes(roleId)) plan.forget.push(roleId);
  }
  plan.grant = plan.add.filter((roleId) => !rules?.get(roleId)?.isLasting);
  return plan;
}

/**
 * True if a role may be removed from a member who has it and should not. Without an authority this depends on the member:
 * whoever assigned it to a verified member, but only if a synchronisation assigned it to another one.
 */
function mayRemove(roleId: string, { granted, verdicts, rules, isVerified = true }: RoleSituation): boolean {
  const isGranted = granted.includes(roleId);
  if (!verdicts.has(roleId)) return isGranted;
  switch (rules?.get(roleId)?.authority ?? null) {
    case 'grant':
      return false;
    case 'own':
      return true;
    case 'managed':
      return isGranted;
    default:
      return isVerified || isGranted;
  }
}

const NO_MANAGE_ROLES = 'The bot lacks the permission Manage Roles in this guild';

/** Returns the reason why the bot cannot assign or remove a role; undefined if the bot can. */
export function failureOf(roleId: string, guildRoles: readonly ChatRole[]): RoleFailure | undefined {
  const role = guildRoles.find(({ id }) => id === roleId);
  if (!role) return { role_id: roleId, code: 'ROLE_UNKNOWN', message: 'The role no longer exists in the guild' };
  const { name, managed, belowBot, assignable } = role;
  if (managed) return { role_id: roleId, code: 'ROLE_MANAGED', message: `The role ${name} belongs to an integration` };
  if (belowBot) {
    return assignable ? undefined : { role_id: roleId, code: 'MISSING_PERMISSION', message: NO_MANAGE_ROLES };
  }
  return { role_id: roleId, code: 'ROLE_ABOVE_BOT', message: `The role ${name} is not below the bot's highest role` };
}
