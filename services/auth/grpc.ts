import type { Clock } from '#kit/clock.ts';
import { invalidRequest } from '#kit/errors.ts';
import type { GrpcHandlers } from '#kit/grpc.ts';
import type { Database } from '#kit/postgres.ts';
import { checked } from '#kit/validate.ts';
import type { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import type { AuthServiceService, KeyHash, KeyUse } from '#proto/gen/guild/auth/v1/auth.ts';
import type { AuthEvents } from './events.ts';
import { parseKeyId } from './key.ts';
import type { KeyAdmin } from './keys.ts';
import { requests } from './settings.ts';
import * as store from './store.ts';
import { auditView, changeView, grantView, keyView } from './views.ts';
import type { Watchers } from './watchers.ts';

const MAX_HASHES = 64;
const HASH_BYTES = 32;
const MAX_USES = 10_000;

/** What the gateway calls. */
export function authHandlers(
  database: Database,
  clock: Clock,
  watchers: Watchers,
  events: AuthEvents,
): GrpcHandlers<typeof AuthServiceService> {
  const now = () => new Date(clock.now());
  return {
    verify: async ({ keys }) => {
      refuseBadHashes(keys);
      const guildIds = keys.map((key) => key.guildId);
      const hashes = keys.map((key) => key.hash);
      const grants = await store.verifyHashes(database, guildIds, hashes, now());
      const known = grants.filter((grant) => grant !== null).length;
      events.secretsVerified(known, grants.length - known);
      return { results: grants.map((grant) => (grant ? { grant: grantView(grant) } : {})) };
    },
    watch: async (_request, stream) => {
      await watchers.watch({
        tell: (change) => stream.write({ event: { $case: 'change', value: changeView(change) } }),
        beat: () => stream.write({ event: { $case: 'beat', value: {} } }),
        get waiting() {
          return stream.waiting;
        },
        signal: stream.signal,
      });
    },
    recordUse: async ({ uses }) => {
      await store.recordUse(database, readUses(uses), now());
      return {};
    },
  };
}

/** What guildctl calls. */
export function keyAdminHandlers(keys: KeyAdmin, clock: Clock): GrpcHandlers<typeof KeyAdminServiceService> {
  return {
    createKey: async (request) => {
      const asked = checked(requests.create(clock.now()), {
        ...settingsOf(request),
        guild_id: request.guildId,
        legacy: request.legacy,
        scopes: request.scopes,
        ip_allowlist: request.ipAllowlist,
      });
      const { key, secret } = await keys.create(asked);
      return { key: keyView(key), secret };
    },
    listKeys: async ({ guildId }) => {
      const found = await keys.list(checked(requests.list, { guild_id: guildId }));
      return { keys: found.map(keyView) };
    },
    updateKey: async (request) => {
      const asked = checked(requests.update, {
        ...settingsOf(request),
        key_id: request.keyId,
        scopes: request.scopes?.values,
        ip_allowlist: request.ipAllowlist?.values,
      });
      return { key: keyView(await keys.update(asked)) };
    },
    rotateKey: async ({ keyId, graceSeconds, actor }) => {
      const asked = checked(requests.rotate, { key_id: keyId, grace_seconds: graceSeconds, actor });
      const { key, secret } = await keys.rotate(asked);
      return { key: keyView(key), secret };
    },
    revokeKey: async ({ keyId, actor }) => {
      const key = await keys.revoke(checked(requests.revoke, { key_id: keyId, actor }));
      return { key: keyView(key) };
    },
    revokeGuildKeys: async ({ guildId, actor }) => {
      const revoked = await keys.revokeGuild(checked(requests.revokeGuild, { guild_id: guildId, actor }));
      return { keys: revoked.map(keyView) };
    },
    listAudit: async ({ guildId, since, limit }) => {
      const rows = await keys.audit(checked(requests.audit, { guild_id: guildId, since, limit }));
      return { entries: rows.map((row) => auditView(guildId, row)) };
    },
    recordErasure: async ({ guildId, ...rest }) => {
      await keys.recordErasure(checked(requests.erasure, { ...rest, guild_id: guildId }));
      return {};
    },
  };
}

interface Settings {
  name?: string | undefined;
  rateLimit?: number | undefined;
  expiresAt?: number | undefined;
  actor: string;
}

function settingsOf({ name, rateLimit, expiresAt, actor }: Settings) {
  return { name, rate_limit: rateLimit, expires_at: expiresAt, actor };
}

function refuseBadHashes(keys: readonly KeyHash[]): void {
  if (keys.length > MAX_HASHES) {
    throw invalidRequest([{ path: 'request.keys', message: `must hold at most ${MAX_HASHES}` }]);
  }
  const faults = keys.flatMap(({ hash }, index) =>
    hash.length === HASH_BYTES ? [] : [{ path: `request.keys[${index}].hash`, message: 'must be SHA-256' }],
  );
  if (faults.length > 0) throw invalidRequest(faults);
}

function readUses(uses: readonly KeyUse[]): store.KeyUse[] {
  if (uses.length > MAX_USES) {
    throw invalidRequest([{ path: 'request.uses', message: `must hold at most ${MAX_USES}` }]);
  }
  return uses.map(({ keyId, usedAt }, index) => {
    const key = parseKeyId(keyId);
    if (!key) throw invalidRequest([{ path: `request.uses[${index}].key_id`, message: 'must be the ID of a key' }]);
    return { ...key, usedAt: new Date(usedAt * 1000) };
  });
}
