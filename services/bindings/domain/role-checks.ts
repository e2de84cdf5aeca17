import { counted, failed, type GuildCheck, listed, passed } from '#kit/guild-state/check.ts';
import type { ChatRole } from '#platforms/chat.ts';
import type { Binding } from './binding.ts';

/**
 * Checks the roles of bindings against the roles of the guild, highest first: each exists, can be assigned, and is below
 * the bot's highest role.
 */
export function roleChecks(bindings: readonly Binding[], roles: readonly ChatRole[]): GuildCheck[] {
  const known = new Map(roles.map((role) => [role.id, role]));
  const deleted = bindings.filter(({ chatRoleId }) => !known.has(chatRoleId));
  const boundIds = new Set(bindings.map(({ chatRoleId }) => chatRoleId));
  const bound = roles.filter(({ id }) => boundIds.has(id));
  const managed = bound.filter((role) => role.managed);
  return [
    existenceCheck(deleted),
    assignmentCheck(managed, bindings),
    orderCheck(
      bound.filter((role) => !role.managed && !role.belowBot),
      roles,
    ),
  ];
}

const idsOf = (bindings: readonly Binding[]) => listed(bindings.map(({ id }) => String(id)));

/** Returns the bindings with their IDs, as part of a sentence. */
const named = (bindings: readonly Binding[]) =>
  bindings.length === 1 ? `the binding ${idsOf(bindings)}` : `the bindings ${idsOf(bindings)}`;

function existenceCheck(deleted: readonly Binding[]): GuildCheck {
  if (deleted.length === 0) return passed('bound_roles_exist', 'Every role of a binding exists.');
  return failed(
    'bound_roles_exist',
    `${counted(deleted.length, 'binding')} give${deleted.length === 1 ? 's' : ''} a role that was deleted.`,
    `Remove ${named(deleted)}.`,
  );
}

function assignmentCheck(managed: readonly ChatRole[], bindings: readonly Binding[]): GuildCheck {
  const name = 'bound_roles_assignable';
  if (managed.length === 0) return passed(name, 'Every role of a binding can be assigned by a bot.');
  const ids = new Set(managed.map(({ id }) => id));
  return failed(
    name,
    `${counted(managed.length, 'role')} of a binding belong${managed.length === 1 ? 's' : ''} to an integration, which alone assigns it: ${listed(managed.map((role) => role.name))}.`,
    `Remove ${named(bindings.filter(({ chatRoleId }) => ids.has(chatRoleId)))}, or bind another role instead.`,
  );
}

function orderCheck(above: readonly ChatRole[], roles: readonly ChatRole[]): GuildCheck {
  const [highest] = above;
  if (!highest) return passed('bot_role_order', "The bot's highest role is above every role of a binding.");
  // The bot's highest role is directly above the first role that is below it.
  const own = roles[roles.findIndex(({ belowBot }) => belowBot) - 1];
  const dragged = own ? `the role ${own.name}` : 'the role of the bot';
  return failed(
    'bot_role_order',
    `${counted(above.length, 'role')} of a binding ${above.length === 1 ? 'is' : 'are'} not below the bot's highest role: ${listed(above.map((role) => role.name))}.`,
    `In the settings of the guild, under Roles, drag ${dragged} above the role ${highest.name}.`,
  );
}
