import type { GrpcClient } from '#kit/grpc/client.ts';
import type { ChatPlatform } from '#platforms/chat.ts';
import type { BindingsServiceService } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { failureOf } from './role-plan.ts';
import { type BindingNickname, evaluate, evaluatedOf, nicknameOf } from './verdicts.ts';

/** What a linked account gets when it joins the guild. */
export interface JoiningRoles {
  /** The IDs of the roles that the bindings give and the bot can assign, in ascending order. */
  roleIds: string[];
  /** Those of them that a later synchronisation may remove, so that they are stored as assigned. */
  granted: string[];
  /** The nickname of the first binding that matches and has one. */
  nickname: BindingNickname | 'unknown' | undefined;
}

export interface JoiningRolesOptions {
  bindings: GrpcClient<typeof BindingsServiceService>;
  chat: ChatPlatform;
}

/**
 * Returns what the role bindings give a linked account that is not in the guild yet. Roles about which the game platform
 * cannot tell now are left out: a synchronisation after the join assigns them.
 */
export async function joiningRoles(
  { bindings, chat }: JoiningRolesOptions,
  guildId: string,
  link: Link,
): Promise<JoiningRoles> {
  const [[evaluated], guildRoles] = await Promise.all([
    evaluate(bindings, guildId, [link], { rolesOnly: true }),
    chat.roles(guildId),
  ]);
  if (!evaluated) return { roleIds: [], granted: [], nickname: undefined };
  const { verdicts, rules } = evaluatedOf(evaluated.roles);
  const isGiven = (roleId: string) => verdicts.get(roleId) === 'wanted' && !failureOf(roleId, guildRoles);
  const roleIds = [...verdicts.keys()].filter(isGiven).sort();
  const granted = roleIds.filter((roleId) => !rules.get(roleId)?.isLasting);
  return { roleIds, granted, nickname: nicknameOf(evaluated) };
}
