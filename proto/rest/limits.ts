/** The length of a rate limit window. Windows are fixed and aligned to the clock. */
export const WINDOW_SECONDS = 60;

/** Requests per window, and whether they are counted per guild or per key (specification, section 8). */
export const CATEGORIES = {
  lookup: { limit: 60, per: 'guild' },
  bindings_read: { limit: 100, per: 'guild' },
  bindings_write: { limit: 30, per: 'guild' },
  moderation_check: { limit: 300, per: 'key' },
  moderation_read: { limit: 100, per: 'guild' },
  moderation_write: { limit: 50, per: 'guild' },
  config_read: { limit: 100, per: 'guild' },
  roblox_activity: { limit: 200, per: 'key' },
  staff_activity: { limit: 200, per: 'key' },
  staff_session: { limit: 100, per: 'key' },
  staff_heartbeat: { limit: 300, per: 'key' },
  server_heartbeat: { limit: 300, per: 'key' },
  server_poll: { limit: 300, per: 'key' },
  server_ack: { limit: 100, per: 'key' },
  members_read: { limit: 100, per: 'guild' },
  verify_write: { limit: 50, per: 'guild' },
  sync_write: { limit: 30, per: 'guild' },
  events_read: { limit: 300, per: 'key' },
  webhooks_write: { limit: 30, per: 'guild' },
  activity_read: { limit: 100, per: 'guild' },
  commands_write: { limit: 100, per: 'guild' },
} as const satisfies Record<string, { limit: number; per: 'guild' | 'key' }>;

export type Category = keyof typeof CATEGORIES;

/** The category that a 429 reports if the key's own cap was exceeded. */
export const KEY_CAP_CATEGORY = 'api_key';

/** Failed authentications, counted per client address in each gateway. */
export const AUTHENTICATION_LIMIT = { category: 'authentication', limit: 30 } as const;

/** Requests to `/interactions` that the chat platform has not signed, counted per client address in each gateway. */
export const SIGNATURE_LIMIT = { category: 'interaction_signatures', limit: 30 } as const;

/** Slash commands: of one member, and of all members of a guild. */
export const INTERACTION_LIMITS = {
  interactions_of_member: { limit: 10 },
  interactions: { limit: 60 },
} as const;

export type InteractionCategory = keyof typeof INTERACTION_LIMITS;
