import { z } from 'zod';
import type { Clock } from '../limits.ts';
import { parse } from '../parse.ts';
import type { Call, Route } from '../routes.ts';
import { done, ok } from '../routes.ts';
import type { ChatGuild, World } from '../world.ts';
import { addMember, newMember, removeMember } from '../world.ts';
import { roleSchema, snowflake } from '../world-schema.ts';
import type { GuildEvents } from './events.ts';
import type { Invites } from './invites.ts';
import { usersOf } from './oauth.ts';

const memberChangeSchema = z.strictObject({
  guild: snowflake,
  user: snowflake,
  action: z.enum(['join', 'leave', 'update']),
  /** The name of somebody who is not in the world yet. */
  username: z.string().min(1).optional(),
  nick: z.string().max(32).nullable().optional(),
  roles: z.array(snowflake).optional(),
  timeout_until: z.iso.datetime({ offset: true }).nullable().optional(),
});

const roleChangeSchema = z.strictObject({
  guild: snowflake,
  action: z.enum(['create', 'update', 'delete']),
  role: roleSchema.partial().required({ id: true }),
});

const acceptSchema = z.strictObject({ code: z.string(), user: snowflake, username: z.string().min(1).optional() });

type Parts = { world: World; events: GuildEvents; clock: Clock; invites: Invites };

/** Controls that change members and roles as persons and administrators would, with the events that the platform sends. */
export function guildControls({ world, events, clock, invites }: Parts): Route[] {
  const changeMember = (call: Call) => applyMember(parse(memberChangeSchema, call), world, events, clock());
  const changeRole = (call: Call) => applyRole(parse(roleChangeSchema, call), world, events);
  const accept = (call: Call) => {
    const { code, user, username } = parse(acceptSchema, call);
    invites.accept(code, userOf(world, user, username));
  };
  return [
    { method: 'POST', pattern: '/__members', handle: done(changeMember) },
    { method: 'POST', pattern: '/__roles', handle: done(changeRole) },
    { method: 'GET', pattern: '/__invites', handle: () => ok({ invites: invites.list() }) },
    { method: 'POST', pattern: '/__invites', handle: done(accept) },
  ];
}

function guildOf(world: World, id: string): ChatGuild {
  const guild = world.guilds.get(id);
  if (!guild) throw new Error(`There is no guild ${id}`);
  return guild;
}

/** A person of the world, or a new one. With a name it is a new one, which spares the search in a large world. */
function userOf(world: World, id: string, username?: string) {
  const known = username === undefined ? usersOf(world).get(id) : undefined;
  return known ?? { id, username: username ?? `user-${id}`, global_name: null };
}

function applyMember(
  change: z.output<typeof memberChangeSchema>,
  world: World,
  events: GuildEvents,
  now: number,
): void {
  const guild = guildOf(world, change.guild);
  for (const role of change.roles ?? []) if (!guild.roles.has(role)) throw new Error(`There is no role ${role}`);
  const existing = guild.members.get(change.user);
  if (!existing && change.action !== 'join') throw new Error(`${change.user} is not a member`);
  const member = existing ?? newMember(userOf(world, change.user, change.username), new Date(now).toISOString());
  if (change.action === 'leave') {
    removeMember(guild, member);
    return events.memberRemoved(guild, member);
  }
  if (change.nick !== undefined) member.nick = change.nick;
  if (change.roles !== undefined) member.roles = change.roles;
  if (change.timeout_until !== undefined) member.communication_disabled_until = change.timeout_until;
  if (!existing) addMember(guild, member);
  // The platform may report a join of somebody who is a member, so this control can too.
  if (change.action === 'join') events.memberAdded(guild, member);
  else events.memberChanged(guild, member);
}

function applyRole(
  { guild: id, action, role: given }: z.output<typeof roleChangeSchema>,
  world: World,
  events: GuildEvents,
) {
  const guild = guildOf(world, id);
  const existing = guild.roles.get(given.id);
  if ((existing === undefined) !== (action === 'create')) throw new Error(`Cannot ${action} the role ${given.id}`);
  if (action === 'delete') {
    guild.roles.delete(given.id);
    guild.data.roles = guild.data.roles.filter((role) => role.id !== given.id);
    // As on the platform, the role is taken from its members without an event for each.
    for (const member of guild.sorted) member.roles = member.roles.filter((held) => held !== given.id);
    return events.roleDeleted(guild, given.id);
  }
  if (existing) {
    Object.assign(existing, given);
    return events.roleChanged(guild, existing);
  }
  const role = roleSchema.parse({ name: 'new role', position: 1, permissions: '0', ...given });
  guild.roles.set(role.id, role);
  guild.data.roles.push(role);
  events.roleCreated(guild, role);
}
