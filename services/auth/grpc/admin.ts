import type { Clock } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { decodeCursor, encodeCursor } from '#kit/http/cursor.ts';
import { checked } from '#kit/http/validate.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { verifyPart } from '../domain/audit/verify.ts';
import type { GuildAdmin } from '../domain/guilds.ts';
import type { KeyAdmin } from '../domain/keys.ts';
import { revokeLeaked } from '../domain/leaked.ts';
import { selectEntries, selectHeads } from '../store/audit.ts';
import { requests } from './requests.ts';
import { auditView, guildView, keyView } from './views.ts';

const LAST = Number.MAX_SAFE_INTEGER;

export interface KeyAdminOptions {
  database: Database;
  keys: KeyAdmin;
  guilds: GuildAdmin;
  /** Of the audit's checkpoints. */
  ring: KeyRing;
  clock: Clock;
}

/** What guildctl calls. */
export function keyAdminHandlers(options: KeyAdminOptions): GrpcHandlers<typeof KeyAdminServiceService> {
  return { ...keyMethods(options), ...guildMethods(options), ...auditMethods(options) };
}

type Methods = GrpcHandlers<typeof KeyAdminServiceService>;

function keyMethods({
  database,
  keys,
  clock,
}: KeyAdminOptions): Pick<
  Methods,
  'createKey' | 'listKeys' | 'updateKey' | 'rotateKey' | 'revokeKey' | 'revokeGuildKeys' | 'revokeLeakedKeys'
> {
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
    listKeys: async ({ guildId, limit, cursor, expiresBefore, unusedSince }) => {
      const asked = { guild_id: guildId, limit, cursor, expires_before: expiresBefore, unused_since: unusedSince };
      const { keys: found, nextCursor } = await keys.list(checked(requests.list, asked));
      return { keys: found.map(keyView), nextCursor };
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
      const asked = checked(requests.rotate, { key_id: keyId, grace_seconds: graceSeconds, note: actor });
      const { key, secret } = await keys.rotate(asked);
      return { key: keyView(key), secret };
    },
    revokeKey: async ({ keyId, actor }) => {
      const key = await keys.revoke(checked(requests.revoke, { key_id: keyId, note: actor }));
      return { key: keyView(key) };
    },
    revokeGuildKeys: async ({ guildId, actor }) => {
      const revoked = await keys.revokeGuild(checked(requests.revokeGuild, { guild_id: guildId, note: actor }));
      return { keys: revoked.map(keyView) };
    },
    revokeLeakedKeys: async ({ keys: leaked, dryRun, actor }) => {
      const named = leaked.map(({ guildId, ...rest }) => ({ ...rest, guild_id: guildId }));
      const asked = checked(requests.leaked, { keys: named, dry_run: dryRun, note: actor });
      const found = asked.keys.map(({ guild_id: guildId, ...rest }) => ({ ...rest, guildId }));
      return { results: await revokeLeaked(database, keys, found, { isDryRun: asked.dry_run, note: asked.note }) };
    },
  };
}

function guildMethods({ guilds }: KeyAdminOptions): Pick<Methods, 'listGuilds' | 'suspendGuild' | 'resumeGuild'> {
  return {
    listGuilds: async (request) => {
      const { limit, cursor } = checked(requests.page, request);
      const scope = { route: 'guilds', guildId: '' };
      const found = await guilds.list(cursor === '' ? '' : decodeCursor(scope, cursor, 'request.cursor'), limit);
      return { guilds: found.map(guildView), nextCursor: nextCursor(scope, found, limit, ({ guildId }) => guildId) };
    },
    suspendGuild: async ({ guildId, actor }) => {
      const asked = checked(requests.guild, { guild_id: guildId, note: actor });
      return { guild: guildView(await guilds.suspend(asked.guild_id, asked.note)) };
    },
    resumeGuild: async ({ guildId, actor }) => {
      const asked = checked(requests.guild, { guild_id: guildId, note: actor });
      return { guild: guildView(await guilds.resume(asked.guild_id, asked.note)) };
    },
  };
}

function auditMethods({
  database,
  keys,
  ring,
}: KeyAdminOptions): Pick<Methods, 'listAudit' | 'recordErasure' | 'verifyAudit' | 'listAuditHeads'> {
  return {
    listAudit: async ({ guildId, isInstallation, ...request }) => {
      const asked = checked(requests.audit, { ...request, guild_id: guildId, is_installation: isInstallation });
      const { guild_id: guild, since, limit, cursor } = asked;
      // Without the time: one that is relative to now is another with each page.
      const scope = { route: 'audit', guildId: guild };
      const before = cursor === '' ? LAST : Number(decodeCursor(scope, cursor, 'request.cursor'));
      const rows = await selectEntries(database, guild, { since: new Date(since * 1000), before, limit });
      const next = nextCursor(scope, rows, limit, ({ sequence }) => String(sequence));
      return { entries: rows.map((row) => auditView(guild, row)), nextCursor: next };
    },
    recordErasure: async ({ guildId, actor, ...rest }) => {
      await keys.recordErasure(checked(requests.erasure, { ...rest, note: actor, guild_id: guildId }));
      return {};
    },
    verifyAudit: async (request) => {
      const { guild_id: guildId, cursor } = checked(requests.verifyAudit, { ...request, guild_id: request.guildId });
      const scope = { route: 'audit verify', guildId };
      const from = cursor === '' ? undefined : readPosition(decodeCursor(scope, cursor, 'request.cursor'));
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
    listAuditHeads: async (request) => {
      const { limit, cursor } = checked(requests.page, request);
      const scope = { route: 'audit heads', guildId: '' };
      const after = cursor === '' ? undefined : decodeCursor(scope, cursor, 'request.cursor');
      const heads = await selectHeads(database, after, limit);
      return {
        heads: heads.map(({ guildId, sequence }) => ({ guildId, lastSequence: sequence })),
        nextCursor: nextCursor(scope, heads, limit, ({ guildId }) => guildId),
      };
    },
  };
}

/** The cursor behind a full page; empty behind the last one. */
export function nextCursor<Item>(
  scope: Parameters<typeof encodeCursor>[0],
  items: readonly Item[],
  limit: number,
  position: (item: Item) => string,
): string {
  const last = items.at(-1);
  return last !== undefined && items.length === limit ? encodeCursor(scope, position(last)) : '';
}

function readPosition(text: string) {
  const [sequence = '', chain = ''] = text.split(' ');
  return { sequence: Number(sequence), chain: Buffer.from(chain, 'hex') };
}

interface Settings {
  name?: string | undefined;
  rateLimit?: number | undefined;
  expiresAt?: number | undefined;
  actor: string;
}

function settingsOf({ name, rateLimit, expiresAt, actor }: Settings) {
  return { name, rate_limit: rateLimit, expires_at: expiresAt, note: actor };
}
