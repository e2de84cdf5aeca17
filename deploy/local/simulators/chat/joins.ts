import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import { addMember, CREATE_INSTANT_INVITE, MANAGE_NICKNAMES, newMember, type World } from '../world.ts';
import { requireAssignable, requirePermission } from './assignable.ts';
import { readReason } from './audit.ts';
import { refuse, refuseField } from './errors.ts';
import { findGuild, snowflake, viewChannels } from './guilds.ts';
import type { Invites } from './invites.ts';
import type { ChatRoute } from './limits.ts';
import { type MemberWrites, parseNick, parseRoles } from './member-edit.ts';
import { viewMember } from './member-view.ts';
import type { ChatOAuth } from './oauth.ts';

const MAX_AGE_SECONDS = 604_800;
const DEFAULT_AGE_SECONDS = 86_400;
const MAX_USES = 100;

/** Routes that bring persons into a guild: with their OAuth token, or by an invite that gives roles. */
export function joinRoutes(writes: MemberWrites, oauth: ChatOAuth, invites: Invites): ChatRoute[] {
  return [
    {
      method: 'PUT',
      pattern: '/api/v10/guilds/:guild/members/:user',
      limit: 'member-add',
      handle: (call) => joinByToken(writes, oauth, call),
    },
    {
      method: 'GET',
      pattern: '/api/v10/channels/:channel',
      limit: 'guild-read',
      handle: ({ params }) => ok(findChannel(writes.world, params['channel']).channel),
    },
    {
      method: 'POST',
      pattern: '/api/v10/channels/:channel/invites',
      limit: 'invite-create',
      handle: (call) => createInvite(writes, invites, call),
    },
  ];
}

/** Adds a person who granted `guilds.join`: 201 with the member. 204 if they are a member, who then stays unchanged. */
function joinByToken({ world, audit, events, clock }: MemberWrites, oauth: ChatOAuth, call: Call): Answer {
  const guild = findGuild(world, call);
  const id = snowflake(call, 'user');
  const form = (call.body ?? {}) as Record<string, unknown>;
  const token = form['access_token'];
  if (typeof token !== 'string') return refuseField('access_token', 'BASE_TYPE_REQUIRED', 'This field is required');
  const user = oauth.userOf(token, 'guilds.join');
  if (user?.id !== id) return refuse(403, 50025, 'Invalid OAuth2 access token');
  requirePermission(guild, CREATE_INSTANT_INVITE);
  const nick = parseNick(form['nick']);
  if (nick !== null) requirePermission(guild, MANAGE_NICKNAMES);
  const roles = parseRoles(guild, 'roles', form['roles'] ?? []);
  for (const role of roles) requireAssignable(guild, role);
  const reason = readReason(call);
  const isMember = guild.members.has(id);
  audit.add(call, reason, { nick, roles }, !isMember);
  if (isMember) return { status: 204 };
  const member = { ...newMember(user, new Date(clock()).toISOString()), nick, roles };
  addMember(guild, member);
  events.memberAdded(guild, member);
  return ok(viewMember(guild, member), 201);
}

function createInvite({ world, audit }: MemberWrites, invites: Invites, call: Call): Answer {
  const { guild, channel } = findChannel(world, snowflake(call, 'channel'));
  const form = (call.body ?? {}) as Record<string, unknown>;
  const maxAge = readCount(form, 'max_age', DEFAULT_AGE_SECONDS, MAX_AGE_SECONDS);
  const maxUses = readCount(form, 'max_uses', 0, MAX_USES);
  const roles = parseRoles(guild, 'role_ids', form['role_ids'] ?? []);
  requirePermission(guild, CREATE_INSTANT_INVITE);
  for (const role of roles) requireAssignable(guild, role);
  const users = readUsers(form['target_users_file']);
  const reason = readReason(call);
  const terms = { guildId: guild.data.id, channelId: channel.id, roles, maxAge, maxUses, users };
  const invite = invites.create(terms, form['unique'] === true);
  audit.add(call, reason, { code: invite.code, role_ids: roles }, true);
  return ok(invites.view(guild, invite));
}

/** A channel with its guild. */
function findChannel(world: World, id: string | undefined) {
  for (const guild of world.guilds.values()) {
    const channel = viewChannels(guild).find((known) => known.id === id);
    if (channel) return { guild, channel };
  }
  return refuse(404, 10003, 'Unknown Channel');
}

/** The persons of an uploaded file, one a line, below an optional header; null without a file. */
function readUsers(file: unknown): string[] | null {
  if (typeof file !== 'string') return null;
  const lines = file.split(/\r?\n/).filter((line) => line !== '' && line !== 'user_id');
  if (lines.length === 0 || lines.some((line) => !/^[0-9]{1,20}$/.test(line)))
    refuseField('target_users_file', 'INVALID_USERS', 'The file must hold user IDs.');
  return lines;
}

/** A whole number of a form from 0 to the largest; 0 stands for no limit. */
function readCount(form: Record<string, unknown>, field: string, fallback: number, largest: number): number {
  const value = form[field] ?? fallback;
  if (!Number.isInteger(value) || Number(value) < 0 || Number(value) > largest)
    refuseField(field, 'NUMBER_TYPE_MAX', `int value should be between 0 and ${largest}.`);
  return Number(value);
}
