import { z } from 'zod';
import { chatId, gameId, guildId } from '../rest/schemas.ts';
import { SCOPES } from '../rest/scopes.ts';
import { type ConsoleAction, GUILD_ROLES } from './roles.ts';

/** The prefix of the console's own endpoints. All other requests of the app are those of the REST API (`/api/v1`). */
export const CONSOLE_PREFIX = '/console';

/** The header of every request that writes, with the token that GET /console/session returns. */
export const CSRF_HEADER = 'x-csrf-token';

/** One row of the table of the console's own endpoints. Its handler has the same name. */
export interface ConsoleEndpoint {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to CONSOLE_PREFIX, with parameters as `:name`. */
  path: string;
  /** `nothing`: works without a session. `session`: any person who is signed in. Otherwise the action that it does. */
  needs: 'nothing' | 'session' | ConsoleAction;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodObject;
  /** The shape of `data`; undefined for a redirect or a stream. */
  data?: z.ZodType;
}

const role = z.enum(GUILD_ROLES);
const seconds = z.int();
const provider = z.object({ provider: z.enum(['chat', 'oidc']) });
const inGuild = z.object({ guildId });
const aKey = z.object({ guildId, keyId: z.string().max(64) });
const aPerson = z.object({ guildId, chatId });
const page = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z.string().max(500).optional(),
});

export const sessionData = z.object({
  person: z.object({ id: z.string(), name: z.string() }),
  session_id: z.string(),
  csrf_token: z.string(),
  expires_at: seconds,
  /** The URL at which clients of the API reach the gateway; null if it is not configured. */
  api_url: z.string().nullable(),
  /** True if the person may open every guild by its ID, also those that are not listed. */
  is_operator: z.boolean(),
  guilds: z.array(z.object({ guild_id: z.string(), guild_name: z.string().nullable(), role })),
});
export const keyData = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  legacy: z.boolean(),
  /** Empty for a legacy key, which has all scopes. */
  scopes: z.array(z.string()),
  ip_allowlist: z.array(z.string()),
  rate_limit: z.int().nullable(),
  created_at: seconds,
  expires_at: seconds.nullable(),
  revoked_at: seconds.nullable(),
  /** The time until which the previous secret works. */
  rotated_until: seconds.nullable(),
  last_used_at: seconds.nullable(),
});
/** `secret` is returned only this once. */
export const keyWithSecretData = keyData.extend({ secret: z.string() });
export const accessData = z.object({ chat_id: z.string(), role, given_by: z.string(), given_at: seconds });
export const sessionListData = z.object({
  sessions: z.array(
    z.object({
      id: z.string(),
      is_current: z.boolean(),
      provider: z.string(),
      created_at: seconds,
      used_at: seconds,
      expires_at: seconds,
      address: z.string(),
      user_agent: z.string(),
    }),
  ),
});
export const auditData = z.object({
  entries: z.array(
    z.object({
      sequence: z.int(),
      at: seconds,
      /** An operator's name, `key <prefix>`, or `console`; details.person then has the person. */
      actor: z.string(),
      action: z.string(),
      service: z.string(),
      key_id: z.string().nullable(),
      /** null after an erasure. May have `before`, `after`, `address`, `request_id` and `person`. */
      details: z.record(z.string(), z.unknown()).nullable(),
    }),
  ),
  next_cursor: z.string().nullable(),
});

const person = z
  .object({ chat_id: chatId.optional(), game_id: gameId.optional() })
  .refine((body) => body.chat_id !== undefined || body.game_id !== undefined, {
    path: ['chat_id'],
    error: 'or game_id is required',
  });
const rowsByTable = z.array(z.object({ table: z.string(), rows: z.int() }));
const keySettings = {
  name: z.string().min(1).max(64),
  scopes: z.array(z.enum(SCOPES)).max(SCOPES.length),
  ip_allowlist: z.array(z.string().max(64)).max(50),
  /** Requests per minute; null for no limit of its own. */
  rate_limit: z.int().min(1).max(1_000_000).nullable(),
  /** Unix seconds; null for a key that does not expire. */
  expires_at: z.int().min(1).nullable(),
};

/**
 * The console's own endpoints. Bodies and responses are JSON in the envelope of the REST API, with its errors, and
 * NOT_SIGNED_IN (401) and ROLE_TOO_LOW (403).
 */
export const CONSOLE_ENDPOINTS = {
  listProviders: {
    method: 'GET',
    path: '/providers',
    needs: 'nothing',
    data: z.object({ providers: z.array(z.object({ name: z.string(), label: z.string() })) }),
  },
  /** Redirects to the provider `chat` or `oidc`. `return_to` is a path of the app. */
  startSignIn: {
    method: 'GET',
    path: '/sign-in/:provider',
    needs: 'nothing',
    params: provider,
    query: z.object({ return_to: z.string().max(500).optional() }),
  },
  /** The provider returns here; redirects to the app. A failure redirects to `/sign-in?error=CODE`. */
  finishSignIn: { method: 'GET', path: '/sign-in/:provider/callback', needs: 'nothing', params: provider },
  /** Redirects to the chat platform, where a person allows to be added to the guild. A failure redirects to the app. */
  startJoin: { method: 'GET', path: '/join/:guildId/start', needs: 'nothing', params: inGuild },
  /** The chat platform returns here; redirects to `/joined?guild=ID`, or to `/joined?error=CODE`. */
  finishJoin: { method: 'GET', path: '/join/callback', needs: 'nothing' },
  useLink: {
    method: 'POST',
    path: '/sign-in/link',
    needs: 'nothing',
    body: z.object({ token: z.string().max(100) }),
    data: z.object({ return_to: z.string() }),
  },
  getSession: { method: 'GET', path: '/session', needs: 'session', data: sessionData },
  listSessions: { method: 'GET', path: '/sessions', needs: 'session', data: sessionListData },
  endSession: {
    method: 'DELETE',
    path: '/sessions/:sessionId',
    needs: 'session',
    params: z.object({ sessionId: z.string().max(64) }),
    data: z.object({ ended: z.int() }),
  },
  signOut: { method: 'POST', path: '/sign-out', needs: 'session', data: z.object({ ended: z.int() }) },
  signOutEverywhere: {
    method: 'POST',
    path: '/sign-out-everywhere',
    needs: 'session',
    data: z.object({ ended: z.int() }),
  },
  listAccess: {
    method: 'GET',
    path: '/guilds/:guildId/access',
    needs: 'access.read',
    params: inGuild,
    data: z.object({ access: z.array(accessData) }),
  },
  setAccess: {
    method: 'PUT',
    path: '/guilds/:guildId/access/:chatId',
    needs: 'access.write',
    params: aPerson,
    body: z.object({ role }),
    data: accessData,
  },
  removeAccess: {
    method: 'DELETE',
    path: '/guilds/:guildId/access/:chatId',
    needs: 'access.write',
    params: aPerson,
    data: z.object({}),
  },
  listKeys: {
    method: 'GET',
    path: '/guilds/:guildId/keys',
    needs: 'keys.read',
    params: inGuild,
    query: page,
    data: z.object({ keys: z.array(keyData), next_cursor: z.string().nullable() }),
  },
  createKey: {
    method: 'POST',
    path: '/guilds/:guildId/keys',
    needs: 'keys.write',
    params: inGuild,
    body: z.object({
      name: keySettings.name,
      scopes: keySettings.scopes.min(1),
      ip_allowlist: keySettings.ip_allowlist.default([]),
      rate_limit: keySettings.rate_limit.default(null),
      expires_at: keySettings.expires_at.default(null),
    }),
    data: keyWithSecretData,
  },
  updateKey: {
    method: 'PATCH',
    path: '/guilds/:guildId/keys/:keyId',
    needs: 'keys.write',
    params: aKey,
    body: z.object(keySettings).partial(),
    data: keyData,
  },
  rotateKey: {
    method: 'POST',
    path: '/guilds/:guildId/keys/:keyId/rotate',
    needs: 'keys.write',
    params: aKey,
    body: z.object({ grace_seconds: z.int().min(0).max(604_800).default(86_400) }),
    data: keyWithSecretData,
  },
  revokeKey: {
    method: 'DELETE',
    path: '/guilds/:guildId/keys/:keyId',
    needs: 'keys.write',
    params: aKey,
    data: keyData,
  },
  listAudit: {
    method: 'GET',
    path: '/guilds/:guildId/audit',
    needs: 'audit.read',
    params: inGuild,
    query: page.extend({ since: z.coerce.number().int().min(0).optional() }),
    data: auditData,
  },
  exportPerson: {
    method: 'POST',
    path: '/guilds/:guildId/export',
    needs: 'person.export',
    params: inGuild,
    body: person.safeExtend({ cursor: z.string().max(2_000).optional() }),
    data: z.object({
      rows: z.array(z.object({ table: z.string(), row: z.record(z.string(), z.unknown()) })),
      next_cursor: z.string().nullable(),
    }),
  },
  /** Repeat it until `is_done` is true. With `dry_run` it only counts. */
  erasePerson: {
    method: 'POST',
    path: '/guilds/:guildId/erase',
    needs: 'person.erase',
    params: inGuild,
    body: person.safeExtend({ dry_run: z.boolean().default(false) }),
    data: z.object({ tables: rowsByTable, is_done: z.boolean() }),
  },
  /** Server-sent events of the guild, as GET /api/v1/events/stream sends them. Needs the scope `events:read`. */
  streamEvents: { method: 'GET', path: '/guilds/:guildId/events', needs: 'session', params: inGuild },
} as const satisfies Record<string, ConsoleEndpoint>;

export type ConsoleEndpointName = keyof typeof CONSOLE_ENDPOINTS;
