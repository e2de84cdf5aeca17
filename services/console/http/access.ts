import type { ConsoleHandlers } from './endpoint.ts';
import type { AuthClient } from './sign-in.ts';
import { accessView } from './views.ts';

type AccessHandlers = Pick<ConsoleHandlers, 'listAccess' | 'setAccess' | 'removeAccess'>;

/** Returns the handlers of the endpoints about roles that were given to persons in a guild. */
export function accessHandlers(auth: AuthClient): AccessHandlers {
  return {
    async listAccess({ caller, params: { guildId } }) {
      const { access } = await auth.listAccess({ caller, guildId });
      return { data: { access: access.map(accessView) } };
    },
    async setAccess({ caller, params: { guildId, chatId }, body: { role } }) {
      return { data: accessView((await auth.setAccess({ caller, guildId, chatId, role })).access) };
    },
    async removeAccess({ caller, params: { guildId, chatId } }) {
      await auth.removeAccess({ caller, guildId, chatId });
      return { data: {} };
    },
  };
}
