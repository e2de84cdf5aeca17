import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { currentOperator } from '#kit/grpc/operators.ts';
import { checked } from '#kit/http/validate.ts';
import type { StaffAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { chatId, guildId, text } from '#proto/rest/schemas.ts';
import type { StaffRoles } from '../domain/staff-roles.ts';
import { staffRoleMessage } from './views.ts';

const MAX_LEVEL = 10;
const MAX_PERMISSIONS = 100;
const LEVEL_ERROR = `must be a whole number from 0 to ${MAX_LEVEL}`;

const permission = z.string().regex(/^[A-Za-z0-9._:*-]{1,64}$/, { error: 'must be 1 to 64 of A-Z a-z 0-9 . _ : * -' });
/**
 * The operator's note for the audit, which the auth service reads from the request. The log contains the name of the
 * authenticated operator instead.
 */
const actor = text(1, 100);

/**
 * The field names equal the names of guildctl's options, because guildctl derives them from the paths of validation
 * errors.
 */
const removeRole = z.object({ guild_id: guildId, role: chatId, actor });

const setRole = removeRole.extend({
  level: z.int().min(0, { error: LEVEL_ERROR }).max(MAX_LEVEL, { error: LEVEL_ERROR }),
  name: text(1, 100),
  permissions: z.array(permission).max(MAX_PERMISSIONS, { error: `must hold at most ${MAX_PERMISSIONS}` }),
});

const listRoles = z.object({ guild_id: guildId });

/** The methods of the gRPC service guild.activity.v1.StaffAdminService, which guildctl calls. */
export function staffAdminMethods(roles: StaffRoles): GrpcHandlers<typeof StaffAdminServiceService> {
  return {
    async setStaffRole({ guildId: guild, chatRoleId, ...message }) {
      const request = checked(setRole, { ...message, guild_id: guild, role: chatRoleId }, 'request');
      const { level, name, permissions } = request;
      const role = { chatRoleId: request.role, level, name, permissions };
      return { role: staffRoleMessage(await roles.set(request.guild_id, role, currentOperator())) };
    },
    async listStaffRoles({ guildId: guild }) {
      const request = checked(listRoles, { guild_id: guild }, 'request');
      return { roles: (await roles.list(request.guild_id)).map(staffRoleMessage) };
    },
    async removeStaffRole({ guildId: guild, chatRoleId, actor: note }) {
      const request = checked(removeRole, { guild_id: guild, role: chatRoleId, actor: note }, 'request');
      return { role: staffRoleMessage(await roles.remove(request.guild_id, request.role, currentOperator())) };
    },
  };
}
