import { ChatAdminServiceService } from '#proto/gen/guild/members/v1/chat.ts';
import { ACTOR_OPTION, type Command } from '../command.ts';
import { properties } from '../text.ts';

const install: Command = {
  name: 'chat commands install',
  usage: '[--actor NOTE]',
  notes: [
    'Slash commands that the application had before, and that this version does not have, are removed.',
    'Then set CHAT_APPLICATION_PUBLIC_KEY of the gateway to the public key, and on the pages of the chat platform the',
    'interactions endpoint URL of the application to https://<your gateway>/interactions.',
  ],
  options: ACTOR_OPTION,
  run: async (input, connections) => {
    input.check();
    const members = connections.admin(ChatAdminServiceService, 'members');
    const installed = await members.installCommands({ actor: input.note });
    const { applicationId, commands, publicKey, interactionsUrl } = installed;
    return {
      document: {
        application_id: applicationId,
        commands,
        public_key: publicKey || null,
        interactions_url: interactionsUrl || null,
      },
      text: properties([
        ['Application', applicationId],
        ['Commands', commands.map((name) => `/${name}`).join(', ')],
        ['Public key', publicKey || '-'],
        ['Interactions endpoint', interactionsUrl || 'not set'],
      ]),
    };
  },
};

export const chatCommands: readonly Command[] = [install];
