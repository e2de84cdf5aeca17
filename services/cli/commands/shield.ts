import { ShieldAdminServiceService, type ShieldEntry } from '#proto/gen/guild/moderation/v1/admin.ts';
import type { Command, Input, Output } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../pages.ts';
import { properties, time } from '../text.ts';

const ID = { min: 1, max: Number.MAX_SAFE_INTEGER };

const PLAYER = { guild: { type: 'string' }, 'game-id': { type: 'string' }, actor: { type: 'string' } } as const;
const OWNER = '--guild ID        the guild in which it counts; every guild when left out';

const add: Command = {
  name: 'shield add',
  summary: 'flag a player, in place of an earlier entry',
  usage:
    '--game-id ID --reason TEXT --category TEXT [--guild ID] [--source TEXT] [--game-username NAME] [--expires-at UNIX] [--actor NAME]',
  notes: [
    OWNER,
    '--category TEXT   what kind of player it is, such as exploiter',
    '--source TEXT     who says so; operator when left out',
    '--expires-at N    Unix seconds after which the entry no longer counts',
  ],
  options: {
    ...PLAYER,
    reason: { type: 'string' },
    category: { type: 'string' },
    source: { type: 'string' },
    'game-username': { type: 'string' },
    'expires-at': { type: 'string' },
  },
  run: async (input, connections) => {
    const entry = {
      guildId: input.text('guild') ?? '',
      gameId: requiredGameId(input),
      gameUsername: input.text('game-username'),
      reason: input.requiredText('reason'),
      category: input.requiredText('category'),
      source: input.text('source'),
      expiresAt: input.wholeNumber('expires-at', ID),
      actor: input.actor,
    };
    input.check();
    const { entry: added } = await admin(connections).addEntry(entry);
    return entryOutput(given(added));
  },
};

const remove: Command = {
  name: 'shield remove',
  summary: 'take a player off the flagged list',
  usage: '--game-id ID [--guild ID] [--actor NAME]',
  notes: [OWNER],
  options: PLAYER,
  run: async (input, connections) => {
    const named = { guildId: input.text('guild') ?? '', gameId: requiredGameId(input), actor: input.actor };
    input.check();
    const { entry: removed } = await admin(connections).removeEntry(named);
    return entryOutput(given(removed));
  },
};

const list: Command = {
  name: 'shield list',
  summary: 'the flagged players of a guild, or those flagged for every guild, ordered by player',
  usage: `[--guild ID] ${PAGE_USAGE}`,
  notes: [OWNER, ...PAGE_NOTES],
  options: { guild: { type: 'string' }, ...PAGE_OPTIONS },
  run: async (input, connections) => {
    const guildId = input.text('guild') ?? '';
    const pages = readPageOptions(input);
    // The cursor is the last player of the page before.
    input.wholeNumber('cursor', ID);
    input.check();
    return listOutput(pages, {
      field: 'entries',
      none: 'Nobody is on this list.',
      headings: ['PLAYER', 'NAME', 'CATEGORY', 'SOURCE', 'FLAGGED', 'EXPIRES', 'BY', 'REASON'],
      cells: (entry) => [
        String(entry.gameId),
        entry.gameUsername ?? '-',
        entry.category,
        entry.source,
        time(entry.flaggedAt),
        ending(entry),
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

function requiredGameId(input: Input): number {
  input.requiredText('game-id');
  return input.wholeNumber('game-id', ID) ?? 0;
}

/** protobuf can not say that a message is always there. */
function given(entry: ShieldEntry | undefined): ShieldEntry {
  if (!entry) throw new Error('the service answered without an entry');
  return entry;
}

const ending = ({ expiresAt }: ShieldEntry) => (expiresAt === undefined ? 'never' : time(expiresAt));

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
    ['Counts in', entry.guildId ? `guild ${entry.guildId}` : 'every guild'],
    ['Category', entry.category],
    ['Source', entry.source],
    ['Reason', entry.reason],
    ['Flagged', time(entry.flaggedAt)],
    ['Expires', ending(entry)],
    ['By', entry.actor],
  ]);
  return { document: entryDocument(entry), text };
}
