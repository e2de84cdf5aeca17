import { BindingAdminServiceService } from '#proto/gen/guild/bindings/v1/admin.ts';
import type { Binding } from '#proto/gen/guild/bindings/v1/bindings.ts';
import { LinkAdminServiceService } from '#proto/gen/guild/lookup/v1/admin.ts';
import { RecordAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import type { Punishment } from '#proto/gen/guild/moderation/v1/moderation.ts';
import type { Command } from '../command.ts';
import { optionalTime, table, time } from '../text.ts';

const showLink: Command = {
  name: 'links show',
  usage: '--guild ID (--chat-id ID | --game-id ID)',
  options: { guild: { type: 'string' }, 'chat-id': { type: 'string' }, 'game-id': { type: 'string' } },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const gameId = input.numericId('game-id');
    const chosen = input.oneOf('chat-id', 'game-id');
    input.check();
    const account =
      chosen === 'game-id'
        ? ({ $case: 'gameId', value: gameId ?? 0 } as const)
        : ({ $case: 'chatId', value: input.text('chat-id') ?? '' } as const);
    const { link, changes } = await connections.admin(LinkAdminServiceService, 'lookup').showLink({ guildId, account });
    const document = {
      link: link ? { chat_id: link.chatId, game_id: link.gameId, game_username: link.gameUsername } : null,
      history: changes.map((change) => ({
        action: change.action,
        chat_id: change.chatId,
        game_id: change.gameId,
        game_username: change.gameUsername,
        created_at: change.createdAt,
      })),
    };
    const current = link
      ? `${link.chatId} is linked to ${link.gameId} (${link.gameUsername}).`
      : 'The account is not linked.';
    const rows = changes.map((change) => [
      time(change.createdAt),
      change.action,
      change.chatId,
      String(change.gameId),
      change.gameUsername,
    ]);
    return { document, text: sections(current, section(['AT', 'ACTION', 'CHAT ID', 'GAME ID', 'NAME'], rows)) };
  },
};

const showBans: Command = {
  name: 'bans show',
  usage: '--guild ID --game-id ID',
  options: { guild: { type: 'string' }, 'game-id': { type: 'string' } },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const gameId = input.requiredNumericId('game-id');
    input.check();
    const { bans, mutes, log } = await connections
      .admin(RecordAdminServiceService, 'moderation')
      .showPlayer({ guildId, gameId });
    const document = {
      bans: bans.map(punishmentDocument),
      mutes: mutes.map(punishmentDocument),
      log: log.map((entry) => ({ id: entry.id, action: entry.action, ...decisionDocument(entry) })),
    };
    const active = [
      ...bans.map((ban) => ['ban', ...decisionCells(ban)]),
      ...mutes.map((mute) => ['mute', ...decisionCells(mute)]),
    ];
    const text = sections(
      active.length > 0 ? 'Active bans and mutes:' : 'The player has no active ban or mute.',
      section(['KIND', ...DECISION_HEADINGS], active),
      section(
        ['ACTION', ...DECISION_HEADINGS],
        log.map((entry) => [entry.action, ...decisionCells(entry)]),
      ),
    );
    return { document, text };
  },
};

const showBindings: Command = {
  name: 'bindings show',
  usage: '--guild ID [BINDING_ID]',
  argument: 'BINDING_ID',
  options: { guild: { type: 'string' } },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const bindingId = input.argument === undefined ? undefined : Number(input.argument);
    if (bindingId !== undefined && !(Number.isSafeInteger(bindingId) && bindingId > 0)) {
      input.fault('BINDING_ID must be a whole number');
    }
    input.check();
    const { bindings } = await connections
      .admin(BindingAdminServiceService, 'bindings')
      .showBindings({ guildId, bindingId });
    const rows = bindings.map((binding) => [
      String(binding.id),
      binding.chatRoleId,
      String(binding.priority ?? '-'),
      targetText(binding.target),
    ]);
    const text = rows.length > 0 ? table(['ID', 'ROLE', 'PRIORITY', 'CONDITION'], rows) : 'The guild has no bindings.';
    return { document: { bindings: bindings.map(bindingDocument) }, text };
  },
};

/** Commands of guildctl that show the records of one account, player or guild. */
export const recordCommands: readonly Command[] = [showLink, showBans, showBindings];

/** The fields that bans, mutes and log entries have in common. */
type Decision = Pick<
  Punishment,
  'reason' | 'moderatorGameId' | 'moderatorChatId' | 'placeId' | 'createdAt' | 'expiresAt'
>;
type LoggedDecision = Omit<Decision, 'reason'> & { reason?: string | undefined };

const DECISION_HEADINGS = ['AT', 'EXPIRES', 'PLACE', 'MODERATOR', 'REASON'];

const decisionCells = (decision: LoggedDecision) => [
  time(decision.createdAt),
  optionalTime(decision.expiresAt, '-'),
  String(decision.placeId ?? 'all'),
  decision.moderatorChatId ?? String(decision.moderatorGameId ?? '-'),
  JSON.stringify(decision.reason ?? ''),
];

const decisionDocument = (decision: LoggedDecision) => ({
  reason: decision.reason ?? null,
  moderator_game_id: decision.moderatorGameId ?? null,
  moderator_chat_id: decision.moderatorChatId ?? null,
  place_id: decision.placeId ?? null,
  created_at: decision.createdAt,
  expires_at: decision.expiresAt ?? null,
});

const punishmentDocument = (punishment: Punishment) => ({
  id: punishment.id,
  game_id: punishment.gameId,
  game_username: punishment.gameUsername ?? null,
  ...decisionDocument(punishment),
  source_server_id: punishment.sourceServerId ?? null,
});

function bindingDocument({ id, chatRoleId, priority, target }: Binding) {
  return { id, chat_role_id: chatRoleId, priority: priority ?? null, ...targetDocument(target) };
}

function targetDocument(target: Binding['target']) {
  switch (target?.$case) {
    case 'groupRank': {
      const { gameGroupId, minRank, maxRank } = target.value;
      return { binding_type: 'group_rank', game_group_id: gameGroupId, min_rank: minRank, max_rank: maxRank };
    }
    case 'accountAge': {
      const { platform, minDays } = target.value;
      return { binding_type: 'account_age', account_age_platform: platform, account_age_min_days: minDays };
    }
    case 'gamepassId':
      return { binding_type: 'gamepass', gamepass_id: target.value };
    case 'assetId':
      return { binding_type: 'asset', asset_id: target.value };
    case 'badgeId':
      return { binding_type: 'badge', badge_id: target.value };
    default:
      return { binding_type: null };
  }
}

function targetText(target: Binding['target']): string {
  const { binding_type: type, ...fields } = targetDocument(target);
  const values = Object.entries(fields).map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`);
  return `${type}: ${values.join(', ')}`;
}

/** Returns a table as text; an empty text if there are no rows. */
const section = (headings: readonly string[], rows: readonly (readonly string[])[]) =>
  rows.length > 0 ? table(headings, rows) : '';

/** Joins texts with an empty line between them. Leaves out empty texts. */
const sections = (...texts: readonly string[]) => texts.filter(Boolean).join('\n\n');
