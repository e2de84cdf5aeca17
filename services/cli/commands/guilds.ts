import { type Guild, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { ACTOR_OPTION, type Command, type Output, YES_OPTION } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../pages.ts';
import { required } from '../responses.ts';
import { optionalTime, properties, time } from '../text.ts';

const list: Command = {
  name: 'guilds list',
  usage: PAGE_USAGE,
  notes: [...PAGE_NOTES, 'The time of the last use may be up to two minutes behind.'],
  options: PAGE_OPTIONS,
  run: async (input, connections) => {
    const pages = readPageOptions(input);
    input.check();
    return listOutput(pages, {
      field: 'guilds',
      none: 'No guild has keys.',
      headings: ['GUILD', 'STATE', 'ACTIVE KEYS', 'ALL KEYS', 'LAST USED'],
      cells: (guild: Guild) => [
        guild.guildId,
        state(guild),
        String(guild.activeKeys),
        String(guild.keys),
        optionalTime(guild.lastUsedAt, 'never'),
      ],
      document: guildDocument,
      page: async (page) => {
        const { guilds, nextCursor } = await admin(connections).listGuilds(page);
        return { items: guilds, nextCursor };
      },
    });
  },
};

const suspend: Command = {
  name: 'guilds suspend',
  usage: '--guild ID --yes [--actor NOTE]',
  notes: ['Within a second requests get 401 INVALID_API_KEY. The data of the guild does not change.'],
  options: { guild: { type: 'string' }, ...ACTOR_OPTION, ...YES_OPTION },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    input.check();
    input.confirm(`rejects every request of guild ${guildId} until it is resumed`);
    const { guild } = await admin(connections).suspendGuild({ guildId, actor: input.note });
    return guildOutput(required(guild, 'guild'));
  },
};

const resume: Command = {
  name: 'guilds resume',
  usage: '--guild ID [--actor NOTE]',
  options: { guild: { type: 'string' }, ...ACTOR_OPTION },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    input.check();
    const { guild } = await admin(connections).resumeGuild({ guildId, actor: input.note });
    return guildOutput(required(guild, 'guild'));
  },
};

export const guildCommands: readonly Command[] = [list, suspend, resume];

const admin = (connections: Connections) => connections.admin(KeyAdminServiceService, 'auth');

const state = ({ suspendedAt }: Guild) => (suspendedAt === undefined ? 'active' : `suspended ${time(suspendedAt)}`);

function guildDocument(guild: Guild) {
  return {
    guild_id: guild.guildId,
    active_keys: guild.activeKeys,
    keys: guild.keys,
    last_used_at: guild.lastUsedAt ?? null,
    suspended_at: guild.suspendedAt ?? null,
  };
}

function guildOutput(guild: Guild): Output {
  const text = properties([
    ['Guild', guild.guildId],
    ['State', state(guild)],
    ['Active keys', String(guild.activeKeys)],
  ]);
  return { document: guildDocument(guild), text };
}
