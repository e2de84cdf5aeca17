import { type Guild, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { type Command, type Output, YES_OPTION } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../pages.ts';
import { properties, time } from '../text.ts';

const list: Command = {
  name: 'guilds list',
  summary: 'the guilds that have or had keys, with their use',
  usage: PAGE_USAGE,
  notes: [...PAGE_NOTES, 'The last use of a key is known within two minutes.'],
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
        guild.lastUsedAt === undefined ? 'never' : time(guild.lastUsedAt),
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
  summary: 'refuse every key of a guild as if it were revoked, until it is resumed',
  usage: '--guild ID --yes [--actor NOTE]',
  notes: ['Requests get 401 INVALID_API_KEY within a second. Nothing that is stored of the guild changes.'],
  options: { guild: { type: 'string' }, actor: { type: 'string' }, ...YES_OPTION },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    input.check();
    input.confirm(`refuses every request of guild ${guildId} until it is resumed`);
    const { guild } = await admin(connections).suspendGuild({ guildId, actor: input.note });
    return guildOutput(guild);
  },
};

const resume: Command = {
  name: 'guilds resume',
  summary: 'let the keys of a suspended guild work as before',
  usage: '--guild ID [--actor NOTE]',
  options: { guild: { type: 'string' }, actor: { type: 'string' } },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    input.check();
    const { guild } = await admin(connections).resumeGuild({ guildId, actor: input.note });
    return guildOutput(guild);
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

function guildOutput(guild: Guild | undefined): Output {
  if (!guild) throw new Error('the service answered without a guild');
  const text = properties([
    ['Guild', guild.guildId],
    ['State', state(guild)],
    ['Active keys', String(guild.activeKeys)],
  ]);
  return { document: guildDocument(guild), text };
}
