import { StaffAdminServiceService, type StaffRole } from '#proto/gen/guild/activity/v1/admin.ts';
import { ACTOR_OPTION, type Command, type Output } from '../command.ts';
import type { Connections } from '../connections.ts';
import { required } from '../responses.ts';
import { properties, table, time } from '../text.ts';

const LEVEL = { min: 0, max: 10 };
const ROLE_OPTIONS = { guild: { type: 'string' }, role: { type: 'string' }, ...ACTOR_OPTION } as const;

const set: Command = {
  name: 'staff set',
  usage: '--guild ID --role CHAT_ROLE_ID --level 0..10 --name TEXT [--permissions a,b] [--actor NOTE]',
  notes: [
    '--level N        the level of a member is the highest level of its staff roles',
    '--name TEXT      the name of the role in the game',
    '--permissions    names that the game defines; a member has the permissions of all its staff roles',
  ],
  options: { ...ROLE_OPTIONS, level: { type: 'string' }, name: { type: 'string' }, permissions: { type: 'string' } },
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
    return roleOutput(required(saved, 'role'));
  },
};

const list: Command = {
  name: 'staff list',
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
  usage: '--guild ID --role CHAT_ROLE_ID [--actor NOTE]',
  notes: ['Game servers may use the previous staff roles for up to 5 minutes.'],
  options: ROLE_OPTIONS,
  run: async (input, connections) => {
    const request = {
      guildId: input.requiredText('guild'),
      chatRoleId: input.requiredText('role'),
      actor: input.actor,
    };
    input.check();
    const { role: removed } = await admin(connections).removeStaffRole(request);
    return roleOutput(required(removed, 'role'));
  },
};

export const staffCommands: readonly Command[] = [set, list, remove];

const admin = (connections: Connections) => connections.admin(StaffAdminServiceService, 'activity');

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
