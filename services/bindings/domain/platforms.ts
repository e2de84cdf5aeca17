import { ApiError, invalidRequest } from '#kit/errors.ts';
import { DeadlineError, within } from '#kit/resilience/deadline.ts';
import type { ChatPlatform, ChatRole } from '#platforms/chat.ts';
import type { GamePlatform } from '#platforms/game.ts';
import { type Condition, type NewBinding, type Target, targetOf } from './binding.ts';

/**
 * The timeout in milliseconds for the checks with both platforms together. It is shorter than the gateway's timeout, so
 * that no role binding is saved after the client got a timeout.
 */
const CHECK_MS = 6_500;

export interface BindingNames {
  role: string | null;
  group: string | null;
}

/**
 * Checks that the targets of a new role binding (ranks in groups, or items) exist on the game platform, and that the bot
 * can assign the binding's role on the chat platform. Returns the names of the group and of the role. Throws
 * INVALID_TARGET, INVALID_REQUEST or NOT_APPLICABLE if the binding is not possible, and PLATFORM_ERROR, TIMEOUT or
 * UNAVAILABLE if a platform fails.
 */
export async function checkTargets(
  game: GamePlatform,
  chat: ChatPlatform,
  guildId: string,
  binding: NewBinding,
  deadlineMs = CHECK_MS,
): Promise<BindingNames> {
  const check = async () => {
    const group = await checkGameTarget(game, targetOf(binding));
    await checkEach(game, binding.conditions);
    return { role: await checkRole(chat, guildId, binding.chatRoleId), group };
  };
  return beforeDeadline(check(), deadlineMs);
}

/** Checks that the targets of new conditions exist on the game platform, and throws as checkTargets does. */
export const checkConditions = (
  game: GamePlatform,
  conditions: readonly Condition[],
  deadlineMs = CHECK_MS,
): Promise<void> => beforeDeadline(checkEach(game, conditions), deadlineMs);

async function checkEach(game: GamePlatform, conditions: readonly Condition[]): Promise<void> {
  for (const [index, condition] of conditions.entries()) {
    await checkGameTarget(game, targetOf(condition), `conditions[${index}].`);
  }
}

const beforeDeadline = <Result>(check: Promise<Result>, deadlineMs: number): Promise<Result> =>
  within(deadlineMs, check).catch((error: unknown) => {
    throw error instanceof DeadlineError
      ? new ApiError('TIMEOUT', { message: 'The platforms took too long', cause: error })
      : error;
  });

/**
 * Checks that the target of a role binding exists on the game platform. Returns the group's name if the target is a
 * rank in a group, otherwise null.
 */
async function checkGameTarget(game: GamePlatform, target: Target, path = ''): Promise<string | null> {
  switch (target.kind) {
    case 'rank': {
      const group = await game.group(target.groupId);
      if (!group) throw unknownTarget('group', target.groupId, path);
      return group.name;
    }
    case 'item':
      if ((await game.itemName(target.item)) === null) throw unknownTarget(target.item.kind, target.item.id, path);
      return null;
    default:
      return null;
  }
}

function unknownTarget(kind: string, id: number, path: string): ApiError {
  return new ApiError('INVALID_TARGET', {
    message: `The game platform has no ${kind} ${id}`,
    details: { errors: [{ path: `body.${path}game_${kind}_id`, message: `is no ${kind} of the game platform` }] },
  });
}

/**
 * Checks that the bot can assign a role, and returns the name of the role. Before a role is rejected, the roles are
 * read again without the cache, because the role may have been created or moved just now.
 */
async function checkRole(chat: ChatPlatform, guildId: string, id: string): Promise<string> {
  const find = (roles: readonly ChatRole[]) => roles.find((role) => role.id === id);
  const cached = find(await chat.roles(guildId));
  if (cached?.assignable) return cached.name;
  const role = find(await chat.roles(guildId, { fresh: true }));
  if (!role) throw invalidRequest([{ path: 'body.chat_role_id', message: 'is no role of the guild' }]);
  if (role.managed) throw notApplicable(`The role ${role.name} belongs to an integration`);
  if (!role.belowBot) throw notApplicable(`The role ${role.name} is not below the bot's highest role`);
  if (!role.assignable) throw notApplicable('The bot lacks the permission Manage Roles in this guild');
  return role.name;
}

const notApplicable = (message: string) => new ApiError('NOT_APPLICABLE', { message });
