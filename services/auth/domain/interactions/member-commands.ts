import type { z } from 'zod';
import { directoryRoutes } from '#proto/rest/directory.ts';
import { membersRoutes } from '#proto/rest/members.ts';
import { syncRoutes } from '#proto/rest/sync.ts';
import { type CommandCalls, CommandRejected, ifFound } from './command.ts';
import { lines, plain, relativeTime, roleMention } from './text.ts';

type Explanation = z.output<(typeof directoryRoutes.explainRoles)['data']>['roles'][number];
type Synced = z.output<(typeof syncRoutes.syncRoles)['data']>;

/** Shows the member's linked game account, or a new code with which the member links one in the game. */
export async function verify(calls: CommandCalls): Promise<string> {
  const { chatId } = calls.run;
  const link = await calls.linkOf(chatId);
  if (link) return `You are verified as **${plain(link.game_username)}** (game ID ${link.game_id}).`;
  const { code, expires_at: expiresAt } = await calls.make({
    route: membersRoutes.createToken,
    body: { chat_id: chatId },
  });
  return lines([
    `Your code is **${code}**. Join the game and enter it there.`,
    `It expires ${relativeTime(expiresAt)}. Show it to nobody: whoever enters it is linked with your account here.`,
  ]);
}

/** Synchronises the member's roles, and explains them. */
export async function roles(calls: CommandCalls): Promise<string> {
  const { chatId } = calls.run;
  const synced = await ifFound(calls.make({ route: syncRoutes.syncRoles, body: { chat_id: chatId } }));
  if (!synced) throw new CommandRejected('You are not verified yet. Use `/verify` first.');
  const { roles: explained } = await calls.make({ route: directoryRoutes.explainRoles, params: { chatId } });
  if (explained.length === 0) return 'No roles of this server depend on the game.';
  return lines([...changesOf(synced), ...explained.map(explanationOf)]);
}

function changesOf({ added, removed, failed }: Synced): string[] {
  const listed = (verb: string, roleIds: readonly string[]) =>
    roleIds.length === 0 ? [] : [`${verb}: ${roleIds.map(roleMention).join(', ')}`];
  const failures = failed.map(
    ({ role_id: roleId, message }) => `Not changed: ${roleMention(roleId)}. ${plain(message)}.`,
  );
  const changes = [...listed('Added', added), ...listed('Removed', removed), ...failures];
  return changes.length > 0 ? changes : ['Your roles are up to date.'];
}

function explanationOf({ role_id: roleId, has_role: hasRole, bindings }: Explanation): string {
  const reasons = bindings.map(({ reason }) => plain(reason));
  const why = reasons.length === 0 ? '' : ` ${reasons.join('; ')}.`;
  return `- ${roleMention(roleId)}: ${hasRole ? 'you have it.' : 'you do not have it.'}${why}`;
}
