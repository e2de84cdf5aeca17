import type { ErasureRule, UserColumn } from '#kit/personal-data/erasure-rules.ts';

/** Of a command that a user issued, an export says when and what, and not about whom. */
const issued = `jsonb_build_object('issued_by', issued_by, 'type', type, 'created_at', created_at)`;

/** Who decided stands in the command that tells of it, too. */
const withoutIssuer = {
  issued_by: 'NULL',
  payload: `(payload::jsonb - 'moderator_game_id' - 'moderator_chat_id')::json`,
};

/** What servers answered to commands about a user. */
const ABOUT_USER = `command_id IN (
  SELECT commands.command_id FROM activity.commands
  WHERE commands.guild_id = $1 AND commands.target_game_id = $user)`;

const playing: UserColumn = {
  column: 'players',
  account: 'game',
  matches: `EXISTS (SELECT FROM json_array_elements(players) AS player WHERE player->>'game_id' = $user)`,
  empty: {
    players: `(SELECT coalesce(json_agg(player), '[]') FROM json_array_elements(players) AS player
      WHERE player->>'game_id' <> $user)`,
  },
  shows: `jsonb_build_object('players', (SELECT json_agg(player) FROM json_array_elements(players) AS player
    WHERE player->>'game_id' = $user))`,
};

/** What is removed with a guild, and with a user. */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'activity.servers', users: [playing] },
  {
    // Before commands, by which they are found.
    table: 'activity.deliveries',
    users: [{ column: 'command_id', account: 'game', matches: ABOUT_USER }],
  },
  {
    table: 'activity.commands',
    exports: `jsonb_build_object('payload', payload::jsonb - 'moderator_game_id' - 'moderator_chat_id')`,
    users: [
      { column: 'target_game_id', account: 'game' },
      { column: 'issued_by', account: 'game', empty: withoutIssuer, shows: issued },
      { column: 'issued_by', account: 'chat', empty: withoutIssuer, shows: issued },
    ],
  },
  { table: 'activity.sessions', users: [{ column: 'game_id', account: 'game' }] },
  {
    table: 'activity.actions',
    // Of what a member of staff did an export does not say to whom, nor what was said of them.
    exports: `'{"details": null}'::jsonb`,
    users: [
      { column: 'actor_game_id', account: 'game' },
      // What a member of staff did stays; to whom, and what was said of it, does not.
      { column: 'target_game_id', account: 'game', empty: { target_game_id: 'NULL', details: 'NULL' } },
    ],
  },
  { table: 'activity.games' },
  { table: 'activity.guilds' },
  { table: 'activity.daily_counts' },
  { table: 'activity.staff_roles' },
  // Encrypted answers, found by what their callers named them; gone within a day.
  { table: 'activity.idempotency' },
];
