import { isRecord } from '../../routes.ts';
import type { ChatGuild, World } from '../../world.ts';
import { viewUser } from '../guilds.ts';
import { viewMember } from '../member-view.ts';
import { effectivePermissions } from '../oauth.ts';
import type { Command } from './commands.ts';

const OPTION_TYPES = { string: 3, number: 4, boolean: 5 } as Record<string, number>;
const USER_OPTION = 6;

type Use = {
  guild: ChatGuild;
  userId: string;
  name: string;
  command: Command | undefined;
  options: Record<string, unknown>;
};

/** The body of an interaction: a member of a guild uses a slash command. */
export function buildCommandUse(world: World, base: object, { guild, userId, name, command, options }: Use) {
  const member = guild.members.get(userId);
  if (!member) throw new Error(`${userId} is not a member`);
  const [channel] = guild.data.channels;
  return {
    ...base,
    type: 2,
    guild_id: guild.data.id,
    guild: { id: guild.data.id, locale: 'en-GB', features: [] },
    guild_locale: 'en-GB',
    channel_id: channel?.id,
    channel: { ...channel, type: 0, guild_id: guild.data.id },
    locale: 'en-GB',
    member: { ...viewMember(guild, member), permissions: String(effectivePermissions(guild, userId)) },
    app_permissions: String(effectivePermissions(guild, guild.data.bot.id)),
    context: 0,
    entitlements: [],
    authorizing_integration_owners: { 0: guild.data.id },
    data: {
      id: command?.id ?? world.data.chat.oauth_client.client_id,
      name,
      type: 1,
      guild_id: guild.data.id,
      options: Object.entries(options).map(([option, value]) => viewOption(command, option, value)),
      resolved: resolveUsers(guild, command, options),
    },
  };
}

function typeOf(command: Command | undefined, option: string, value: unknown): number {
  const declared = command?.options.find(({ name }) => name === option)?.type;
  return declared ?? OPTION_TYPES[typeof value] ?? 3;
}

/** An option; an object as the value stands for a subcommand with options of its own. */
function viewOption(command: Command | undefined, option: string, value: unknown): object {
  if (!isRecord(value)) return { name: option, type: typeOf(command, option, value), value };
  return { name: option, type: 1, options: Object.entries(value).map(([name, own]) => viewOption(command, name, own)) };
}

/** The users whom options name, with their memberships, which the platform adds to the body. */
function resolveUsers(guild: ChatGuild, command: Command | undefined, options: Record<string, unknown>) {
  const ids = Object.entries(options)
    .filter(([option, value]) => typeOf(command, option, value) === USER_OPTION)
    .map(([, value]) => String(value));
  const members = ids.flatMap((id) => guild.members.get(id) ?? []);
  const isBot = (id: string) => id === guild.data.bot.id;
  return {
    users: Object.fromEntries(members.map((member) => [member.id, viewUser(member, isBot(member.id))])),
    members: Object.fromEntries(
      members.map((member) => {
        const { user: _user, ...rest } = viewMember(guild, member);
        return [member.id, { ...rest, permissions: String(effectivePermissions(guild, member.id)) }];
      }),
    ),
  };
}
