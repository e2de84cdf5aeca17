import { eventErasureRules } from '#kit/events/relay.ts';
import type { ErasureRule, UserColumn } from '#kit/personal-data/erasure-rules.ts';

/** The export of a command that a user issued: the time and the type, but not the player whom the command concerned. */
const ISSUED_EXPORT = `jsonb_build_object('issued_by', issued_by, 'type', type, 'created_at', created_at)`;

/** Removes the moderator from a command, because the payload of a ban or mute names the moderator too. */
const WITHOUT_ISSUER = {
  issued_by: 'NULL',
  payload: `(payload::jsonb - 'moderator_game_id' - 'moderator_chat_id')::json`,
};

/** Selects the deliveries of commands about a user, because they contain the results that servers reported. */
const ABOUT_USER = `command_id IN (
  SELECT commands.command_id FROM activity.commands
  WHERE commands.guild_id = $1 AND commands.target_game_id = $user)`;

const PLAYERS: UserColumn = {
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

/** The rows and fields that are deleted when a guild or a user is erased. */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'activity.servers', holds: 'servers', users: [PLAYERS] },
  {
    // Deliveries must be erased before their commands, because they are found through the commands.
    table: 'activity.deliveries',
    holds: 'command_deliveries',
    users: [{ column: 'command_id', account: 'game', matches: ABOUT_USER }],
  },
  {
    table: 'activity.commands',
    holds: 'commands',
    exports: `jsonb_build_object('payload', payload::jsonb - 'moderator_game_id' - 'moderator_chat_id')`,
    users: [
      { column: 'target_game_id', account: 'game' },
      { column: 'issued_by', account: 'game', empty: WITHOUT_ISSUER, shows: ISSUED_EXPORT },
      { column: 'issued_by', account: 'chat', empty: WITHOUT_ISSUER, shows: ISSUED_EXPORT },
    ],
  },
  // Days are erased before the sessions and actions that they count, so that deleting these finds no day to change.
  { table: 'activity.staff_days', holds: 'other', users: [{ column: 'game_id', account: 'game' }] },
  { table: 'activity.sessions', holds: 'staff_sessions', users: [{ column: 'game_id', account: 'game' }] },
  {
    table: 'activity.actions',
    holds: 'staff_actions',
    // The export of a staff member leaves out the target's ID and the details, which concern another person.
    exports: `'{"details": null}'::jsonb`,
    users: [
      { column: 'actor_game_id', account: 'game' },
      // The action of the staff member stays; the target's ID and the details are deleted.
      { column: 'target_game_id', account: 'game', empty: { target_game_id: 'NULL', details: 'NULL' } },
    ],
  },
  { table: 'activity.games', holds: 'games' },
  { table: 'activity.wake_ups', holds: 'other' },
  { table: 'activity.guilds', holds: 'other' },
  { table: 'activity.daily_counts', holds: 'other' },
  { table: 'activity.staff_roles', holds: 'staff_roles' },
  ...eventErasureRules('activity'),
  // Encrypted responses by the idempotency keys that clients chose; retention deletes them, by default after a day.
  { table: 'activity.idempotency', holds: 'stored_responses' },
  { table: 'activity.leases', belongsToInstallation: true },
];
