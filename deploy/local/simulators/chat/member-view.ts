import type { Call } from '../routes.ts';
import type { ChatGuild, World } from '../world.ts';
import type { ChatMember } from '../world-schema.ts';
import { refuse } from './errors.ts';
import { snowflake, tokenBot, viewUser } from './guilds.ts';

/** A member in the platform's format. */
export function viewMember(guild: ChatGuild, member: ChatMember) {
  return {
    user: viewUser(member, member.id === guild.data.bot.id),
    nick: member.nick,
    avatar: null,
    banner: null,
    roles: member.roles,
    joined_at: timestamp(member.joined_at),
    premium_since: null,
    // A time in the past means the same as null: the timeout is over.
    communication_disabled_until:
      member.communication_disabled_until === null ? null : timestamp(member.communication_disabled_until),
    deaf: false,
    mute: false,
    pending: false,
    flags: 0,
  };
}

/** The platform uses microseconds and an offset, never a Z. */
export const timestamp = (time: string | number) => new Date(time).toISOString().replace('Z', '000+00:00');

/** The member in the path. */
export function findMember(world: World, guild: ChatGuild, call: Call): ChatMember {
  const id = snowflake(call, 'user');
  const isBot = world.data.chat.guilds.length > 0 && id === tokenBot(world).id;
  return guild.members.get(isBot ? guild.data.bot.id : id) ?? refuse(404, 10007, 'Unknown Member');
}
