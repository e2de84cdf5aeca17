import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { ChatPlatform, ChatRole } from '#platforms/chat.ts';
import type { BindingsServiceService, BindingVerdict } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { REASON_CODES, type ReasonCode } from '#proto/rest/directory.ts';
import { listGrants, type MemberName } from '../store/roles.ts';
import { guildRolesWith } from './guild-roles.ts';
import { findLink } from './links.ts';
import { notInGuild } from './rejections.ts';
import { failureOf, planRoles, type RoleFailure, type RolePlan } from './role-plan.ts';
import { type EvaluatedMember, evaluate, evaluatedOf, ONLY_SHOWN, verdictOf } from './verdicts.ts';

export interface ExplainedBinding {
  bindingId: number;
  matches: 'yes' | 'no' | 'unknown';
  code: ReasonCode;
  reason: string;
}

/** A role, and why a member has it or does not. */
export interface ExplainedRole {
  roleId: string;
  /** The name of the role; null if it no longer exists. */
  roleName: string | null;
  hasRole: boolean;
  /** What a synchronisation of the member would do with the role. */
  action: 'add' | 'remove' | 'keep' | 'none';
  /** The reason why the bot cannot change the role; null if it can. */
  blocked: RoleFailure | null;
  bindings: ExplainedBinding[];
}

export interface RoleExplanationsOptions {
  database: Queryable;
  lookup: GrpcClient<typeof LookupServiceService>;
  bindings: GrpcClient<typeof BindingsServiceService>;
  chat: ChatPlatform;
}

/** Explains the roles of members, binding by binding. Changes nothing. */
export class RoleExplanations {
  readonly #options: RoleExplanationsOptions;

  constructor(options: RoleExplanationsOptions) {
    this.#options = options;
  }

  /**
   * Explains every role of a member that has a role binding or that an earlier synchronisation assigned. Throws
   * NOT_FOUND if the account is not in the guild.
   */
  async explain(member: MemberName): Promise<{ link: Link | undefined; roles: ExplainedRole[] }> {
    const { database, lookup, chat } = this.#options;
    const { guildId, chatId } = member;
    const [found, link, granted] = await Promise.all([
      chat.member(guildId, chatId),
      findLink(lookup, guildId, { chatId, gameId: undefined }),
      listGrants(database, member),
    ]);
    if (!found) throw notInGuild();
    const { byRole, ...evaluated } = await this.#evaluate(guildId, { chatId, gameId: link?.gameId ?? 0 });
    const roleIds = [...new Set([...byRole.keys(), ...granted])];
    const guildRoles = await guildRolesWith(chat, guildId, roleIds);
    const plan = planRoles({
      guildRoles,
      held: found.roles,
      granted,
      ...evaluated,
      isVerified: link !== undefined,
    });
    const roles = roleIds.map((roleId): ExplainedRole => {
      const hasRole = found.roles.includes(roleId);
      return {
        roleId,
        roleName: guildRoles.find(({ id }) => id === roleId)?.name ?? null,
        hasRole,
        action: actionOf(plan, roleId, hasRole),
        blocked: withAdvice(failureOf(roleId, guildRoles), guildRoles),
        bindings: byRole.get(roleId) ?? [],
      };
    });
    return { link, roles };
  }

  /** Evaluates all role bindings for the member with one call. */
  async #evaluate(guildId: string, account: EvaluatedMember) {
    const [member] = await evaluate(this.#options.bindings, guildId, [account], { ...ONLY_SHOWN, withNames: true });
    const roles = member?.roles ?? [];
    const byRole = new Map(roles.map(({ chatRoleId, bindings }) => [chatRoleId, bindings.map(explained)]));
    return { ...evaluatedOf(roles), byRole };
  }
}

const MATCHES = { wanted: 'yes', not_wanted: 'no', unknown: 'unknown' } as const;

function explained(binding: BindingVerdict): ExplainedBinding {
  const code = REASON_CODES.find((known) => known === binding.code) ?? 'PLATFORM_UNAVAILABLE';
  return { bindingId: binding.bindingId, matches: MATCHES[verdictOf(binding)], code, reason: binding.reason };
}

/** Returns what a synchronisation would do with a role. A role that cannot be changed counts as if it could. */
function actionOf(plan: RolePlan, roleId: string, hasRole: boolean): ExplainedRole['action'] {
  const isFailed = plan.failed.some(({ role_id }) => role_id === roleId);
  if (isFailed || plan.add.includes(roleId) || plan.remove.includes(roleId)) return hasRole ? 'remove' : 'add';
  return hasRole ? 'keep' : 'none';
}

/** Adds to a failure what somebody has to do so that the bot can change the role. */
function withAdvice(failure: RoleFailure | undefined, guildRoles: readonly ChatRole[]): RoleFailure | null {
  if (!failure) return null;
  const { code, message } = failure;
  if (code === 'MISSING_PERMISSION') return { ...failure, message: `${message}. Give it to a role of the bot` };
  if (code !== 'ROLE_ABOVE_BOT') return failure;
  const botRole = guildRoles.find(({ isBotRole }) => isBotRole);
  const advice = botRole ? `Drag the role ${botRole.name} above it` : 'Give the bot a role above it';
  return { ...failure, message: `${message}. ${advice}` };
}
