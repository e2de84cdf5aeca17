import { ShieldAdminServiceService, type ShieldEntry } from '#proto/gen/guild/moderation/v1/admin.ts';
import { ACTOR_OPTION, type Command, type Output } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../pages.ts';
import { required } from '../responses.ts';
import { optionalTime, properties, time } from '../text.ts';

const PLAYER_OPTIONS = { guild: { type: 'string' }, 'game-id': { type: 'string' }, ...ACTOR_OPTION } as const;
const GUILD_NOTE = '--guild ID        the guild to which the entry applies; all guilds by default';

const add: Command = {
  name: 'shield add',
  usage:
    '--game-id ID --reason TEXT --category TEXT [--guild ID] [--source TEXT] [--game-username NAME] [--expires-at UNIX] [--actor NOTE]',
  notes: [
    GUILD_NOTE,
    '--category TEXT   the kind of player, such as exploiter',
    '--source TEXT     the origin of the entry; operator by default',
    '--expires-at N    when the entry expires, in Unix seconds',
  ],
  options: {
    ...PLAYER_OPTIONS,
    reason: { type: 'string' },
    category: { type: 'string' },
    source: { type: 'string' },
    'game-username': { type: 'string' },
    'expires-at': { type: 'string' },
  },
  run: async (input, connections) => {
    const entry = {
      guildId: input.text('guild') ?? '',
      gameId: input.requiredNumericId('game-id'),
      gameUsername: input.text('game-username'),
      reason: input.requiredText('reason'),
      category: input.requiredText('category'),
      source: input.text('source'),
      expiresAt: input.numericId('expires-at'),
      actor: input.actor,
    };
    input.check();
    const { entry: added } = await admin(connections).addEntry(entry);
    return entryOutput(required(added, 'entry'));
  },
};

const remove: Command = {
  name: 'shield remove',
  usage: '--game-id ID [--guild ID] [--actor NOTE]',
  notes: [GUILD_NOTE],
  options: PLAYER_OPTIONS,
  run: async (input, connections) => {
    const request = {
      guildId: input.text('guild') ?? '',
      gameId: input.requiredNumericId('game-id'),
      actor: input.actor,
    };
    input.check();
    const { entry: removed } = await admin(connections).removeEntry(request);
    return entryOutput(required(removed, 'entry'));
  },
};

const list: Command = {
  name: 'shield list',
  usage: `[--guild ID] ${PAGE_USAGE}`,
  notes: [GUILD_NOTE, ...PAGE_NOTES],
  options: { guild: { type: 'string' }, ...PAGE_OPTIONS },
  run: async (input, connections) => {
    const guildId = input.text('guild') ?? '';
    const pages = readPageOptions(input);
    // The cursor is the game ID of the last player of the previous page.
    input.numericId('cursor');
    input.check();
    return listOutput(pages, {
      field: 'entries',
      none: 'The list is empty.',
      headings: ['PLAYER', 'NAME', 'CATEGORY', 'SOURCE', 'FLAGGED', 'EXPIRES', 'BY', 'REASON'],
      cells: (entry) => [
        String(entry.gameId),
        entry.gameUsername ?? '-',
        entry.category,
        entry.source,
        time(entry.flaggedAt),
        optionalTime(entry.expiresAt, 'never'),
        entry.actor,
        JSON.stringify(entry.reason),
      ],
      document: entryDocument,
      page: async ({ limit, cursor }) => {
        const { entries } = await admin(connections).listEntries({ guildId, limit, afterGameId: Number(cursor) });
        const last = entries.length === limit ? entries.at(-1) : undefined;
        return { items: entries, nextCursor: last && String(last.gameId) };
      },
    });
  },
};

export const shieldCommands: readonly Command[] = [add, remove, list];

function admin(connections: Connections) {
  return connections.admin(ShieldAdminServiceService, 'moderation');
}

function entryDocument(entry: ShieldEntry) {
  return {
    guild_id: entry.guildId || null,
    game_id: entry.gameId,
    game_username: entry.gameUsername ?? null,
    reason: entry.reason,
    category: entry.category,
    source: entry.source,
    flagged_at: entry.flaggedAt,
    expires_at: entry.expiresAt ?? null,
    actor: entry.actor,
  };
}

function entryOutput(entry: ShieldEntry): Output {
  const text = properties([
    ['Player', String(entry.gameId)],
    ['Name', entry.gameUsername ?? '-'],
    ['Applies to', entry.guildId ? `guild ${entry.guildId}` : 'all guilds'],
    ['Category', entry.category],
    ['Source', entry.source],
    ['Reason', entry.reason],
    ['Flagged', time(entry.flaggedAt)],
    ['Expires', optionalTime(entry.expiresAt, 'never')],
    ['By', entry.actor],
  ]);
  return { document: entryDocument(entry), text };
}
