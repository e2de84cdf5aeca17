import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import type { ChatApplication } from '#platforms/chat.ts';
import { CHAT_COMMAND_NAMES, CHAT_COMMANDS, CHAT_PERMISSIONS } from '#proto/chat/commands.ts';
import type { ChatAdminServiceService } from '#proto/gen/guild/members/v1/chat.ts';

const COMMANDS = Object.entries(CHAT_COMMANDS).map(([name, { permission, ...command }]) => ({
  ...command,
  name,
  permissions: permission === null ? null : CHAT_PERMISSIONS[permission],
}));

/** The gRPC methods of guild.members.v1.ChatAdminService, which guildctl calls. */
export function chatAdminMethods(application: ChatApplication): GrpcHandlers<typeof ChatAdminServiceService> {
  return {
    async installCommands() {
      const { id, publicKey, interactionsUrl } = await application.read();
      await application.registerCommands(id, COMMANDS);
      return {
        applicationId: id,
        commands: CHAT_COMMAND_NAMES,
        publicKey: publicKey ?? '',
        interactionsUrl: interactionsUrl ?? '',
      };
    },
  };
}
