/** Every window is this long, fixed and aligned to the clock. */
export const WINDOW_SECONDS = 60;

/** Requests per window, and whose requests are counted together (specification, section 8). */
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
} as const satisfies Record<string, { limit: number; per: 'guild' | 'key' }>;

export type Category = keyof typeof CATEGORIES;

/** A key's own cap is told under this name in a 429. */
export const KEY_CAP_CATEGORY = 'api_key';

/** Refused authentications, counted per client address in each gateway. */
export const AUTHENTICATION_LIMIT = { category: 'authentication', limit: 30 } as const;
