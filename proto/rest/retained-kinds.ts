/**
 * The kinds of rows that are stored for a guild, in the words of the API, each with what it contains. The erasure rules
 * of the services say which tables belong to a kind.
 */
export const RETAINED_KINDS = {
  keys: 'API keys, including revoked ones',
  audit_entries: 'changes by operators',
  request_counts: 'counted requests, by category and minute or day',
  links: 'links of chat accounts with game accounts',
  link_history: 'changes of links',
  verification_tokens: 'tokens and codes with which players verify',
  bindings: 'role bindings',
  role_grants: 'roles that were assigned to members',
  sync_jobs: 'role sync jobs',
  bans_and_mutes: 'bans and mutes, including those that ended',
  moderation_log: 'entries of the moderation log',
  shield_entries: "entries of the guild's own flagged list",
  games: 'registered places of games',
  servers: 'game servers, including those that were live in the last hour',
  commands: 'commands to game servers',
  command_deliveries: 'commands that were handed over, one row per server',
  staff_roles: 'chat roles that give staff permissions',
  staff_sessions: 'sessions of staff',
  staff_actions: 'logged actions of staff',
  events: 'events',
  webhooks: 'webhooks',
  webhook_deliveries: 'attempts to deliver events to webhooks',
  stored_responses: 'responses to writes that are kept for repeated requests',
  other: 'pending work, locks and counters of the services',
} as const satisfies Record<string, string>;

export type RetainedKind = keyof typeof RETAINED_KINDS;
