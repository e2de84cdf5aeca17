import type { ErasureRule, UserColumn } from '#kit/erasure.ts';

/** Who decided stands in the command that tells of it, too. */
const withoutIssuer = {
  issued_by: 'NULL',
  payload: `(payload::jsonb - 'moderator_game_id' - 'moderator_chat_id')::json`,
};

const playing: UserColumn = {
  column: 'players',
  account: 'game',
  matches: `EXISTS (SELECT FROM json_array_elements(players) AS player WHERE player->>'game_id' = $user)`,
  empty: {
    players: `(SELECT coalesce(json_agg(player), '[]') FROM json_array_elements(players) AS player
      WHERE player->>'game_id' <> $user)`,
  },
};

/** What is removed with a guild, and with a user. */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'activity.servers', users: [playing] },
  {
    table: 'activity.commands',
    users: [
      { column: 'target_game_id', account: 'game' },
      { column: 'issued_by', account: 'game', empty: withoutIssuer },
      { column: 'issued_by', account: 'chat', empty: withoutIssuer },
    ],
  },
  { table: 'activity.sessions', users: [{ column: 'game_id', account: 'game' }] },
  {
    table: 'activity.actions',
    users: [
      { column: 'actor_game_id', account: 'game' },
      // What a member of staff did stays; to whom, and what was said of it, does not.
      { column: 'target_game_id', account: 'game', empty: { target_game_id: 'NULL', details: 'NULL' } },
    ],
  },
  { table: 'activity.games' },
  { table: 'activity.staff_roles' },
  // Encrypted answers, found by what their callers named them; gone within a day.
  { table: 'activity.idempotency' },
];
