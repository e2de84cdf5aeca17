import { ConsoleAdminServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import { ACTOR_OPTION, type Command } from '../command.ts';
import { properties, time } from '../text.ts';

const link: Command = {
  name: 'console link',
  usage: '--guild ID [--role ROLE] [--actor NOTE]',
  notes: [
    '--role ROLE      owner (the default), admin, moderator or viewer: what the person may do in the guild',
    'Whoever opens the link first is signed in, so send it only to the person it is for.',
  ],
  options: { guild: { type: 'string' }, role: { type: 'string' }, ...ACTOR_OPTION },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const role = input.text('role') ?? '';
    input.check();
    const auth = connections.admin(ConsoleAdminServiceService, 'auth');
    const created = await auth.createLink({ guildId, role, actor: input.note });
    return {
      document: { url: created.url, guild_id: guildId, role: created.role, expires_at: created.expiresAt },
      text: properties([
        ['Link', created.url],
        ['Role', created.role],
        ['Expires', time(created.expiresAt)],
      ]),
    };
  },
};

export const consoleCommands: readonly Command[] = [link];
