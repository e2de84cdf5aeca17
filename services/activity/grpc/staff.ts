import { z } from 'zod';
import { unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { StaffAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { chatId, guildId, text } from '#proto/rest/schemas.ts';
import type { StaffRoles } from '../domain/staff-roles.ts';
import type { StaffRole } from '../store/staff-roles.ts';

const HIGHEST_LEVEL = 10;
const MOST_PERMISSIONS = 100;
const WRONG_LEVEL = `must be a whole number from 0 to ${HIGHEST_LEVEL}`;

const permission = z.string().regex(/^[A-Za-z0-9._:*-]{1,64}$/, { error: 'must be 1 to 64 of A-Z a-z 0-9 . _ : * -' });
const actor = text(1, 100);

const named = z.object({ guild_id: guildId, role: chatId, actor });

const set = named.extend({
  level: z.int().min(0, { error: WRONG_LEVEL }).max(HIGHEST_LEVEL, { error: WRONG_LEVEL }),
  name: text(1, 100),
  permissions: z.array(permission).max(MOST_PERMISSIONS, { error: `must hold at most ${MOST_PERMISSIONS}` }),
});

const list = z.object({ guild_id: guildId });

/** What guildctl calls to say who is staff. */
export function staffAdminMethods(roles: StaffRoles): GrpcHandlers<typeof StaffAdminServiceService> {
  return {
    async setStaffRole({ guildId: guild, chatRoleId, ...message }) {
      const asked = checked(set, { ...message, guild_id: guild, role: chatRoleId }, 'request');
      const { level, name, permissions } = asked;
      const role = { chatRoleId: asked.role, level, name, permissions };
      return { role: roleView(await roles.set(asked.guild_id, role, asked.actor)) };
    },
    async listStaffRoles(message) {
      const asked = checked(list, { guild_id: message.guildId }, 'request');
      return { roles: (await roles.list(asked.guild_id)).map(roleView) };
    },
    async removeStaffRole({ guildId: guild, chatRoleId, actor: who }) {
      const asked = checked(named, { guild_id: guild, role: chatRoleId, actor: who }, 'request');
      return { role: roleView(await roles.remove(asked.guild_id, asked.role, asked.actor)) };
    },
  };
}

const roleView = ({ updatedAt, ...role }: StaffRole) => ({ ...role, updatedAt: unixSeconds(updatedAt) });
