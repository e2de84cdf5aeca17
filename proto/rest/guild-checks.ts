/**
 * The checks of the set-up of a guild, by the name that `GET /guilds/:guildId/doctor` returns, each with what is true if
 * the check is ok. Names are added, never changed.
 */
export const GUILD_CHECKS = {
  api_key: 'The guild has an API key that is valid now',
  game_key_scopes: 'One key has every scope that the plugin of a game needs',
  key_expiry: 'No key expires within 7 days',
  key_use: 'Every key that is older than a day has been used (advice only)',
  key_allowlist: 'Every key may be used only from listed addresses (advice only)',
  chat_platform: 'The chat platform responds; only present if it does not',
  bot_in_guild: 'The bot is a member of the guild',
  bot_manages_roles: 'The bot has the permission Manage Roles',
  bot_manages_nicknames: 'The bot has the permission Manage Nicknames',
  bot_creates_invites: 'The bot has the permission Create Invite; only present if the guild invites linked users',
  bot_times_out_members: 'The bot has the permission Timeout Members; only present if the guild mirrors timeouts',
  bot_receives_members: 'The application of the bot may receive the members of guilds (Server Members Intent)',
  chat_websocket: 'Changes of members arrive over the websocket; only present if the installation uses it',
  bound_roles_exist: 'Every role of a binding exists',
  bound_roles_assignable: 'No role of a binding belongs to an integration, which alone could assign it',
  bot_role_order: "The bot's highest role is above every role of a binding",
  game_platform: 'The game platform responds and accepts the key of this installation; only present if it does not',
  game_platform_key:
    'The key of this installation for the game platform is valid, and does not expire within 7 days; only present if there is one, or if settings of the guild need one',
  game_platform_rights:
    'The key for the game platform may do what the settings of the guild need; only present if they need something',
  bound_groups_exist: 'Every group of a binding exists on the game platform',
  bound_items_exist: 'Every game pass, asset and badge of a binding exists on the game platform',
  staff_roles: 'At least one role gives staff permissions in games (advice only)',
  servers_report: 'At least one game server is live (advice only as long as none has ever sent a heartbeat)',
  plugin_versions: 'All live game servers run the same version of the plugin',
  webhooks_delivered: 'No webhook fails or is disabled',
  bindings_service: 'The service that checks the bindings responds; only present if it does not',
  members_service: 'The service that checks members responds; only present if it does not',
  activity_service: 'The service that checks game servers responds; only present if it does not',
  events_service: 'The service that checks webhooks responds; only present if it does not',
} as const satisfies Record<string, string>;

export type GuildCheckName = keyof typeof GUILD_CHECKS;
