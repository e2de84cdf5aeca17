import { ApiError } from '#kit/errors.ts';
import type { ConsoleHandlers } from './endpoint.ts';
import type { AuthClient } from './sign-in.ts';
import { keyView } from './views.ts';

type KeyHandlers = Pick<ConsoleHandlers, 'listKeys' | 'createKey' | 'updateKey' | 'rotateKey' | 'revokeKey'>;

/** Auth records the person of the session, and ignores this field. */
const ACTOR = { actor: '' };

/** Returns the handlers of the endpoints about the API keys of a guild. */
export function keyHandlers(auth: AuthClient): KeyHandlers {
  return {
    async listKeys({ caller, params: { guildId }, query: { limit, cursor = '' } }) {
      const { keys, nextCursor } = await auth.listGuildKeys({ caller, guildId, limit, cursor });
      return { data: { keys: keys.map(keyView), next_cursor: nextCursor || null } };
    },
    async createKey({ caller, params: { guildId }, body }) {
      const { key, secret } = await auth.createGuildKey({
        caller,
        key: {
          guildId,
          name: body.name,
          legacy: false,
          scopes: body.scopes,
          ipAllowlist: body.ip_allowlist,
          rateLimit: body.rate_limit ?? undefined,
          expiresAt: body.expires_at ?? undefined,
          ...ACTOR,
        },
      });
      return { data: { ...keyView(key), secret } };
    },
    async updateKey({ caller, params, body }) {
      const { name, scopes, ip_allowlist: addresses, rate_limit: rateLimit, expires_at: expiresAt } = body;
      const { key } = await auth.updateGuildKey({
        caller,
        key: {
          keyId: keyIn(params),
          name,
          scopes: scopes && { values: scopes },
          ipAllowlist: addresses && { values: addresses },
          // In auth 0 removes a limit or an expiry.
          rateLimit: rateLimit === null ? 0 : rateLimit,
          expiresAt: expiresAt === null ? 0 : expiresAt,
          ...ACTOR,
        },
      });
      return { data: keyView(key) };
    },
    async rotateKey({ caller, params, body }) {
      const request = { keyId: keyIn(params), graceSeconds: body.grace_seconds, ...ACTOR };
      const { key, secret } = await auth.rotateGuildKey({ caller, key: request });
      return { data: { ...keyView(key), secret } };
    },
    async revokeKey({ caller, params }) {
      const { key } = await auth.revokeGuildKey({ caller, key: { keyId: keyIn(params), ...ACTOR } });
      return { data: keyView(key) };
    },
  };
}

/** Returns the ID of a key, which begins with the ID of its guild. Throws NOT_FOUND for a key of another guild. */
function keyIn({ guildId, keyId }: { guildId: string; keyId: string }): string {
  if (!keyId.startsWith(`${guildId}-`)) throw new ApiError('NOT_FOUND');
  return keyId;
}
