import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { MembersServiceService } from '#proto/gen/guild/members/v1/members.ts';
import { chatId, guildId } from '#proto/rest/schemas.ts';
import type { Members } from '../domain/members.ts';

const listGuildRoles = z.object({ guildId });
const getMemberRoles = z.object({ guildId, chatId });

/** The gRPC methods of guild.members.v1.MembersService. */
export function membersMethods(members: Members): GrpcHandlers<typeof MembersServiceService> {
  return {
    async listGuildRoles(message) {
      const { guildId } = checked(listGuildRoles, message, 'request');
      return { roles: await members.roles(guildId) };
    },
    async getMemberRoles(message) {
      const { guildId, chatId } = checked(getMemberRoles, message, 'request');
      const roles = await members.rolesOf(guildId, chatId);
      return { member: roles && { roles } };
    },
  };
}
