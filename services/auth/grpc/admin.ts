import type { Clock } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { encodeCursor } from '#kit/http/cursor.ts';
import { checked } from '#kit/http/validate.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { verifyPart } from '../domain/audit/verify.ts';
import type { GuildAdmin } from '../domain/guilds.ts';
import { formatKeyId, type KeyPosition, type KeyRecord, parseKeyId } from '../domain/key.ts';
import type { KeyAdmin } from '../domain/keys.ts';
import { revokeLeaked } from '../domain/leaked.ts';
import { type ChainPosition, selectEntries, selectHeads } from '../store/audit.ts';
import { nextCursor, positionOf } from './cursors.ts';
import { requests } from './requests.ts';
import { auditView, guildView, keyView } from './views.ts';

/** A number that is greater than the sequence number of any audit entry. */
const NO_SEQUENCE = Number.MAX_SAFE_INTEGER;

export interface KeyAdminHandlersOptions {
  database: Database;
  keys: KeyAdmin;
  guilds: GuildAdmin;
  /** The key ring with the key that signs audit checkpoints. */
  ring: KeyRing;
  clock: Clock;
}

/** The methods of the gRPC service KeyAdminService, which guildctl calls. */
export function keyAdminHandlers(options: KeyAdminHandlersOptions): GrpcHandlers<typeof KeyAdminServiceService> {
  return { ...keyMethods(options), ...guildMethods(options), ...auditMethods(options) };
}

type Methods = GrpcHandlers<typeof KeyAdminServiceService>;
type KeyMethod =
  | 'createKey'
  | 'listKeys'
  | 'updateKey'
  | 'rotateKey'
  | 'revokeKey'
  | 'revokeGuildKeys'
  | 'revokeLeakedKeys';

function keyMethods({ database, keys, clock }: KeyAdminHandlersOptions): Pick<Methods, KeyMethod> {
  return {
    createKey: async ({ guildId, name, legacy, scopes, ipAllowlist, rateLimit, expiresAt, actor }) => {
      const { guild_id, note, ...settings } = checked(requests.create(clock.now()), {
        guild_id: guildId,
        name,
        legacy,
        scopes,
        ip_allowlist: ipAllowlist,
        rate_limit: rateLimit,
        expires_at: expiresAt,
        note: actor,
      });
      const { key, secret } = await keys.create({
        guildId: guild_id,
        settings: {
          name: settings.name,
          scopes: settings.legacy ? null : settings.scopes,
          ipAllowlist: settings.ip_allowlist,
          rateLimit: settings.rate_limit,
          expiresAt: settings.expires_at,
        },
        note,
      });
      return { key: keyView(key), secret };
    },
    listKeys: async ({ guildId, limit, cursor, expiresBefore, unusedSince }) => {
      const request = checked(requests.list, {
        guild_id: guildId,
        limit,
        cursor,
        expires_before: expiresBefore,
        unused_since: unusedSince,
      });
      // The cursor's scope does not include the times of the filters: relative times differ from page to page.
      const scope = { route: 'keys', guildId: request.guild_id ?? '' };
      const filter = {
        guildId: request.guild_id,
        expiresBefore: request.expires_before,
        unusedSince: request.unused_since,
      };
      const found = await keys.list(filter, readKeyPosition(positionOf(scope, request.cursor)), request.limit);
      return { keys: found.map(keyView), nextCursor: nextCursor(scope, found, request.limit, formatKeyPosition) };
    },
    updateKey: async ({ keyId, name, scopes, ipAllowlist, rateLimit, expiresAt, actor }) => {
      const request = checked(requests.update, {
        key_id: keyId,
        name,
        scopes: scopes?.values,
        ip_allowlist: ipAllowlist?.values,
        rate_limit: rateLimit,
        expires_at: expiresAt,
        note: actor,
      });
      const changes = {
        name: request.name,
        scopes: request.scopes,
        ipAllowlist: request.ip_allowlist,
        rateLimit: request.rate_limit,
        expiresAt: request.expires_at,
      };
      return { key: keyView(await keys.update({ key: request.key_id, changes, note: request.note })) };
    },
    rotateKey: async ({ keyId, graceSeconds, actor }) => {
      const request = checked(requests.rotate, { key_id: keyId, grace_seconds: graceSeconds, note: actor });
      const { key, secret } = await keys.rotate({
        key: request.key_id,
        graceSeconds: request.grace_seconds,
        note: request.note,
      });
      return { key: keyView(key), secret };
    },
    revokeKey: async ({ keyId, actor }) => {
      const request = checked(requests.revoke, { key_id: keyId, note: actor });
      const { key } = await keys.revoke({ key: request.key_id, note: request.note });
      return { key: keyView(key) };
    },
    revokeGuildKeys: async ({ guildId, actor }) => {
      const request = checked(requests.guild, { guild_id: guildId, note: actor });
      const revoked = await keys.revokeGuild(request.guild_id, request.note);
      return { keys: revoked.map(keyView) };
    },
    revokeLeakedKeys: async ({ keys: leaked, dryRun, actor }) => {
      const reported = leaked.map(({ guildId, ...rest }) => ({ ...rest, guild_id: guildId }));
      const request = checked(requests.leaked, { keys: reported, dry_run: dryRun, note: actor });
      const found = request.keys.map(({ guild_id: guildId, ...rest }) => ({ ...rest, guildId }));
      const results = await revokeLeaked(database, keys, found, { isDryRun: request.dry_run, note: request.note });
      return { results };
    },
  };
}

function guildMethods({
  guilds,
}: KeyAdminHandlersOptions): Pick<Methods, 'listGuilds' | 'suspendGuild' | 'resumeGuild'> {
  return {
    listGuilds: async (message) => {
      const { limit, cursor } = checked(requests.page, message);
      const scope = { route: 'guilds', guildId: '' };
      const found = await guilds.list(positionOf(scope, cursor) ?? '', limit);
      return { guilds: found.map(guildView), nextCursor: nextCursor(scope, found, limit, ({ guildId }) => guildId) };
    },
    suspendGuild: async ({ guildId, actor }) => {
      const request = checked(requests.guild, { guild_id: guildId, note: actor });
      return { guild: guildView(await guilds.suspend(request.guild_id, request.note)) };
    },
    resumeGuild: async ({ guildId, actor }) => {
      const request = checked(requests.guild, { guild_id: guildId, note: actor });
      return { guild: guildView(await guilds.resume(request.guild_id, request.note)) };
    },
  };
}

type AuditMethod = 'listAudit' | 'recordErasure' | 'verifyAudit' | 'listAuditHeads';

function auditMethods({ database, keys, ring }: KeyAdminHandlersOptions): Pick<Methods, AuditMethod> {
  return {
    listAudit: async ({ guildId: guild, isInstallation, ...message }) => {
      const request = checked(requests.audit, { ...message, guild_id: guild, is_installation: isInstallation });
      const { guild_id: guildId, since, limit, cursor } = request;
      // The cursor's scope does not include `since`: a relative time differs from page to page.
      const scope = { route: 'audit', guildId };
      const before = Number(positionOf(scope, cursor) ?? NO_SEQUENCE);
      const rows = await selectEntries(database, guildId, { since: new Date(since * 1000), before, limit });
      const next = nextCursor(scope, rows, limit, ({ sequence }) => String(sequence));
      return { entries: rows.map((row) => auditView(guildId, row)), nextCursor: next };
    },
    recordErasure: async ({ guildId, actor, ...message }) => {
      const { guild_id, ...erasure } = checked(requests.erasure, { ...message, note: actor, guild_id: guildId });
      await keys.recordErasure({ ...erasure, guildId: guild_id });
      return {};
    },
    verifyAudit: async (message) => {
      const { guild_id: guildId, cursor } = checked(requests.verifyAudit, { ...message, guild_id: message.guildId });
      const scope = { route: 'audit verify', guildId };
      const from = readChainPosition(positionOf(scope, cursor));
      const { entries, firstBreak, next, last, checkpoint } = await verifyPart(database, ring, guildId, from);
      return {
        entries,
        firstBreak,
        nextCursor: next ? encodeCursor(scope, `${next.sequence} ${next.chain.toString('hex')}`) : '',
        lastSequence: last.sequence,
        lastChain: last.chain.toString('hex'),
        checkpointSequence: checkpoint,
      };
    },
    listAuditHeads: async (message) => {
      const { limit, cursor } = checked(requests.page, message);
      const scope = { route: 'audit heads', guildId: '' };
      const heads = await selectHeads(database, positionOf(scope, cursor), limit);
      return {
        heads: heads.map(({ guildId, sequence }) => ({ guildId, lastSequence: sequence })),
        nextCursor: nextCursor(scope, heads, limit, ({ guildId }) => guildId),
      };
    },
  };
}

const formatKeyPosition = (key: KeyRecord) => `${key.revokedAt ? 'revoked' : 'active'} ${formatKeyId(key)}`;

function readKeyPosition(text: string | undefined): KeyPosition | undefined {
  const [state, keyId = ''] = text?.split(' ') ?? [];
  const key = parseKeyId(keyId);
  return key && { ...key, isRevoked: state === 'revoked' };
}

function readChainPosition(text: string | undefined): ChainPosition | undefined {
  if (text === undefined) return undefined;
  const [sequence = '', chain = ''] = text.split(' ');
  return { sequence: Number(sequence), chain: Buffer.from(chain, 'hex') };
}
