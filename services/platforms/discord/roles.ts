import { z } from 'zod';
import type { ChatRole } from '../chat.ts';
import { snowflake } from './members.ts';
import { hasPermission, MANAGE_ROLES, permissions } from './permissions.ts';

const roleSchema = z.object({
  id: snowflake,
  name: z.string(),
  position: z.int(),
  managed: z.boolean(),
  permissions,
  /** The color of the role. The platform has deprecated this field in favour of `colors`. */
  color: z.int().optional(),
  colors: z.object({ primary_color: z.int() }).optional(),
});

export const rolesSchema = z.array(roleSchema);

type Role = z.output<typeof roleSchema>;

/** Returns the guild's roles, highest first, without @everyone, whose ID is that of the guild. */
export function toChatRoles(guildId: string, roles: readonly Role[], botRoles: readonly string[]): ChatRole[] {
  const sorted = roles.filter(({ id }) => id !== guildId).sort(highestFirst);
  const highest = sorted.findIndex(({ id }) => botRoles.includes(id));
  const managesRoles = hasPermission(guildId, roles, botRoles, MANAGE_ROLES);
  return sorted.map(({ id, name, position, managed, color, colors }, index) => {
    const belowBot = highest !== -1 && index > highest;
    const shade = colors?.primary_color ?? color ?? 0;
    const assignable = !managed && belowBot && managesRoles;
    return { id, name, position, color: shade, managed, belowBot, isBotRole: index === highest, assignable };
  });
}

/** Compares two roles by rank. Of two roles in the same position, the older one ranks higher; it has the lower ID. */
function highestFirst(left: Role, right: Role): number {
  return right.position - left.position || Number(BigInt(left.id) - BigInt(right.id));
}
