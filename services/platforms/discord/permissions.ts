import { z } from 'zod';

/** The schema of a role's permissions: the platform sends a 64-bit set of flags as a decimal string. */
export const permissions = z
  .string()
  .regex(/^[0-9]{1,30}$/)
  .transform(BigInt);

export const CREATE_INSTANT_INVITE = 1n << 0n;
const ADMINISTRATOR = 1n << 3n;
export const MANAGE_NICKNAMES = 1n << 27n;
export const MANAGE_ROLES = 1n << 28n;
export const MODERATE_MEMBERS = 1n << 40n;

/**
 * True if a member with the role IDs `held` has a permission in the guild. The permissions of a member are those of all
 * its roles and of @everyone, whose ID is that of the guild. ADMINISTRATOR includes all other permissions.
 */
export function hasPermission(
  guildId: string,
  roles: readonly { id: string; permissions: bigint }[],
  held: readonly string[],
  permission: bigint,
): boolean {
  const own = roles.filter(({ id }) => id === guildId || held.includes(id));
  const union = own.reduce((sum, role) => sum | role.permissions, 0n);
  return (union & (ADMINISTRATOR | permission)) !== 0n;
}
