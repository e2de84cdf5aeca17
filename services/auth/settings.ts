import { z } from 'zod';
import { guildId, text } from '#proto/rest/schemas.ts';
import { SCOPES, type Scope } from '#proto/rest/scopes.ts';
import { normaliseAllowlistEntry } from './allowlist.ts';
import { parseKeyId } from './key.ts';

const MAX_ALLOWLIST = 100;
const MAX_RATE_LIMIT = 1_000_000;
const MAX_GRACE_SECONDS = 7 * 24 * 3600;
const MAX_AUDIT_ROWS = 1_000;
const MAX_TABLES = 200;
/** The end of the year 9999: what lies beyond was meant as milliseconds. */
const LATEST = 253_402_300_799;

const actor = text(1, 100);
const name = text(0, 100);
const legacy = z.boolean();
const keyId = z.string().transform((value, context) => {
  const key = parseKeyId(value);
  if (key) return key;
  context.addIssue({ code: 'custom', message: 'must be the ID of a key, as `keys list` shows it' });
  return z.NEVER;
});

/** Each once, in the order of the table. */
const scopes = z
  .array(z.enum(SCOPES, { error: `must be one of ${SCOPES.join(', ')}` }))
  .transform((given): Scope[] => SCOPES.filter((scope) => given.includes(scope)));

const allowlistEntry = z.string().transform((value, context) => {
  const entry = normaliseAllowlistEntry(value);
  if (entry) return entry;
  context.addIssue({ code: 'custom', message: 'must be an IPv4 or IPv6 address or CIDR' });
  return z.NEVER;
});
const ipAllowlist = z
  .array(allowlistEntry)
  .max(MAX_ALLOWLIST, { error: `must hold at most ${MAX_ALLOWLIST} entries` })
  .transform((entries) => [...new Set(entries)]);

const between = (min: number, max: number, message: string) =>
  z.number().min(min, { error: message }).max(max, { error: message });
const rateLimit = (least: number) =>
  between(least, MAX_RATE_LIMIT, `must be 1 to ${MAX_RATE_LIMIT} requests a minute`).transform(orNone);
const expiresAt = between(0, LATEST, 'must be Unix seconds').transform(orNone);
const graceSeconds = between(0, MAX_GRACE_SECONDS, `must be 0 to ${MAX_GRACE_SECONDS} seconds`);

/** In requests 0 stands for none. */
function orNone(value: number): number | null {
  return value === 0 ? null : value;
}

const erasedTable = z.object({
  table: z.string().regex(/^[a-z_]{1,40}\.[a-z_]{1,60}$/, { error: 'must be schema.table' }),
  rows: z.int().min(0),
});

/** What the callers of key administration may ask; `now` in Unix milliseconds. */
export const requests = {
  create: (now: number) =>
    z
      .object({
        guild_id: guildId,
        name,
        legacy,
        scopes,
        ip_allowlist: ipAllowlist,
        rate_limit: rateLimit(1).default(null),
        expires_at: between(Math.floor(now / 1000) + 1, LATEST, 'must be Unix seconds in the future')
          .nullable()
          .default(null),
        actor,
      })
      .refine((request) => !request.legacy || !request.scopes.length, {
        path: ['scopes'],
        error: 'must be empty for a legacy key, which reaches everything',
        when: () => true,
      }),
  update: z
    .object({
      key_id: keyId,
      name: name.optional(),
      scopes: scopes.optional(),
      ip_allowlist: ipAllowlist.optional(),
      rate_limit: rateLimit(0).optional(),
      expires_at: expiresAt.optional(),
      actor,
    })
    .refine(
      (request) =>
        [request.name, request.scopes, request.ip_allowlist, request.rate_limit, request.expires_at].some(
          (setting) => setting !== undefined,
        ),
      { path: ['key_id'], error: 'is given without a setting to change', when: () => true },
    ),
  rotate: z.object({ key_id: keyId, grace_seconds: graceSeconds, actor }),
  revoke: z.object({ key_id: keyId, actor }),
  revokeGuild: z.object({ guild_id: guildId, actor }),
  erasure: z.object({
    guild_id: guildId,
    what: z.enum(['guild', 'user'], { error: 'must be guild or user' }),
    state: z.enum(['begun', 'done'], { error: 'must be begun or done' }),
    removed: z.array(erasedTable).max(MAX_TABLES, { error: `must hold at most ${MAX_TABLES} tables` }),
    actor,
  }),
  list: z.object({ guild_id: guildId }),
  audit: z.object({
    guild_id: guildId,
    since: between(0, LATEST, 'must be Unix seconds').default(0),
    limit: between(0, MAX_AUDIT_ROWS, `must be 1 to ${MAX_AUDIT_ROWS}`).transform((value) => value || MAX_AUDIT_ROWS),
  }),
};
