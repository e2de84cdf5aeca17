import { StaffAdminServiceService, type StaffRole } from '#proto/gen/guild/activity/v1/admin.ts';
import type { Command, Output } from '../command.ts';
import type { Connections } from '../connections.ts';
import { properties, table, time } from '../text.ts';

const LEVEL = { min: 0, max: 10 };
const NAMED = { guild: { type: 'string' }, role: { type: 'string' }, actor: { type: 'string' } } as const;

const set: Command = {
  name: 'staff set',
  summary: 'make a chat role a staff role, or write it anew',
  usage: '--guild ID --role CHAT_ROLE_ID --level 0..10 --name TEXT [--permissions a,b] [--actor NAME]',
  notes: [
    '--level N        of several staff roles of a member the highest counts',
    '--name TEXT      what the game calls it',
    '--permissions    names that the game gives a meaning; a member has those of all staff roles',
  ],
  options: { ...NAMED, level: { type: 'string' }, name: { type: 'string' }, permissions: { type: 'string' } },
  run: async (input, connections) => {
    input.requiredText('level');
    const role = {
      guildId: input.requiredText('guild'),
      chatRoleId: input.requiredText('role'),
      level: input.wholeNumber('level', LEVEL) ?? 0,
      name: input.requiredText('name'),
      permissions: input.list('permissions') ?? [],
      actor: input.actor,
    };
    input.check();
    const { role: saved } = await admin(connections).setStaffRole(role);
    return roleOutput(given(saved));
  },
};

const list: Command = {
  name: 'staff list',
  summary: 'the staff roles of a guild, the highest level first',
  usage: '--guild ID',
  options: { guild: { type: 'string' } },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    input.check();
    const { roles } = await admin(connections).listStaffRoles({ guildId });
    const headings = ['LEVEL', 'ROLE', 'NAME', 'PERMISSIONS', 'UPDATED'];
    const rows = roles.map((role) => [
      String(role.level),
      role.chatRoleId,
      role.name,
      role.permissions.join(','),
      time(role.updatedAt),
    ]);
    const text = roles.length > 0 ? table(headings, rows) : 'The guild has no staff roles.';
    return { document: { roles: roles.map(roleDocument) }, text };
  },
};

const remove: Command = {
  name: 'staff remove',
  summary: 'make a chat role no staff role',
  usage: '--guild ID --role CHAT_ROLE_ID [--actor NAME]',
  notes: ['Game servers may go by what they were told for up to 5 minutes.'],
  options: NAMED,
  run: async (input, connections) => {
    const named = {
      guildId: input.requiredText('guild'),
      chatRoleId: input.requiredText('role'),
      actor: input.actor,
    };
    input.check();
    const { role: removed } = await admin(connections).removeStaffRole(named);
    return roleOutput(given(removed));
  },
};

export const staffCommands: readonly Command[] = [set, list, remove];

const admin = (connections: Connections) => connections.admin(StaffAdminServiceService, 'activity');

/** protobuf can not say that a message is always there. */
function given(role: StaffRole | undefined): StaffRole {
  if (!role) throw new Error('the service answered without a role');
  return role;
}

const roleDocument = (role: StaffRole) => ({
  chat_role_id: role.chatRoleId,
  level: role.level,
  name: role.name,
  permissions: role.permissions,
  updated_at: role.updatedAt,
});

function roleOutput(role: StaffRole): Output {
  const text = properties([
    ['Role', role.chatRoleId],
    ['Level', String(role.level)],
    ['Name', role.name],
    ['Permissions', role.permissions.join(', ') || '-'],
    ['Updated', time(role.updatedAt)],
  ]);
  return { document: roleDocument(role), text };
}
