import { z } from 'zod';
import { guildId, text } from '#proto/rest/schemas.ts';
import { SCOPES, type Scope } from '#proto/rest/scopes.ts';
import { parseKeyId } from '../domain/key.ts';
import { ROLES } from '../domain/operators/roles.ts';
import { normaliseAllowlistEntry } from './allowlist.ts';

const MAX_ALLOWLIST = 100;
const MAX_RATE_LIMIT = 1_000_000;
const MAX_GRACE_SECONDS = 7 * 24 * 3600;
const MAX_TABLES = 200;
/**
 * The maximum time in a request: the end of the year 9999, in Unix seconds. A later time is most likely meant in
 * milliseconds.
 */
const MAX_TIME = 253_402_300_799;

/** The operator's note for the audit. */
const note = text(0, 100);
const MAX_PAGE = 1_000;
const DEFAULT_PAGE = 100;
const MAX_LEAKED = 64;
const HASH_BYTES = 32;
const MAX_REQUEST_BYTES = 64 * 1024;

const pageSize = (defaultSize: number) =>
  z
    .int()
    .min(0)
    .max(MAX_PAGE, { error: `must be 1 to ${MAX_PAGE}` })
    .transform((value) => value || defaultSize);
const cursor = z.string().max(1_000);
const bytes = (size: number, description: string) =>
  z.instanceof(Buffer).refine(({ length }) => length === size, { error: `must be ${description}` });
const name = text(0, 100);
const legacy = z.boolean();
const keyId = z.string().transform((value, context) => {
  const key = parseKeyId(value);
  if (key) return key;
  context.addIssue({ code: 'custom', message: 'must be the ID of a key, as `keys list` shows it' });
  return z.NEVER;
});

/** A list of scopes. Duplicates are removed, and the scopes are put into the order of SCOPES. */
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
const rateLimit = (min: number) =>
  between(min, MAX_RATE_LIMIT, `must be 1 to ${MAX_RATE_LIMIT} requests a minute`).transform((limit) => limit || null);
const time = between(0, MAX_TIME, 'must be Unix seconds');
const toDate = (seconds: number | undefined) => (seconds === undefined ? null : new Date(seconds * 1000));
const graceSeconds = between(0, MAX_GRACE_SECONDS, `must be 0 to ${MAX_GRACE_SECONDS} seconds`);

const operatorName = z.string().regex(/^[a-z][a-z0-9-]{1,31}$/, {
  error: 'must be 2 to 32 of a-z, 0-9 and -, beginning with a letter',
});

const erasedTable = z.object({
  table: z.string().regex(/^[a-z_]{1,40}\.[a-z_]{1,60}$/, { error: 'must be schema.table' }),
  rows: z.int().min(0),
});

/**
 * The schemas of operators' requests, with the field names that validation errors contain. In updates 0 removes the
 * rate limit or the expiry of an API key, and the result then contains null. `now` is in Unix milliseconds.
 */
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
        expires_at: between(Math.floor(now / 1000) + 1, MAX_TIME, 'must be Unix seconds in the future')
          .optional()
          .transform(toDate),
        note,
      })
      .refine((request) => !request.legacy || !request.scopes.length, {
        path: ['scopes'],
        error: 'must be empty for a legacy key, which has access to everything',
        when: () => true,
      }),
  update: z
    .object({
      key_id: keyId,
      name: name.optional(),
      scopes: scopes.optional(),
      ip_allowlist: ipAllowlist.optional(),
      rate_limit: rateLimit(0).optional(),
      expires_at: time.transform((seconds) => toDate(seconds || undefined)).optional(),
      note,
    })
    .refine(
      (request) =>
        [request.name, request.scopes, request.ip_allowlist, request.rate_limit, request.expires_at].some(
          (setting) => setting !== undefined,
        ),
      { path: ['key_id'], error: 'is given without a setting to change', when: () => true },
    ),
  rotate: z.object({ key_id: keyId, grace_seconds: graceSeconds, note }),
  revoke: z.object({ key_id: keyId, note }),
  erasure: z.object({
    guild_id: guildId,
    what: z.enum(['guild', 'user'], { error: 'must be guild or user' }),
    state: z.enum(['begun', 'done'], { error: 'must be begun or done' }),
    removed: z.array(erasedTable).max(MAX_TABLES, { error: `must hold at most ${MAX_TABLES} tables` }),
    note,
  }),
  list: z.object({
    guild_id: z.union([z.literal('').transform(() => null), guildId]),
    limit: pageSize(MAX_PAGE),
    cursor,
    expires_before: time.optional().transform(toDate),
    unused_since: time.optional().transform(toDate),
  }),
  audit: z
    .object({
      guild_id: z.union([z.literal(''), guildId]),
      since: time.default(0),
      limit: pageSize(MAX_PAGE),
      cursor,
      is_installation: z.boolean(),
    })
    .refine((request) => request.is_installation === (request.guild_id === ''), {
      path: ['guild_id'],
      error: 'is required, unless the audit of the installation is requested',
      when: () => true,
    }),
  verifyAudit: z.object({ guild_id: z.union([z.literal(''), guildId]), cursor }),
  page: z.object({ limit: pageSize(DEFAULT_PAGE), cursor }),
  leaked: z.object({
    keys: z
      .array(
        z.object({
          guild_id: guildId,
          hash: bytes(HASH_BYTES, 'SHA-256'),
          url: text(0, 1_000),
          source: text(0, 100),
        }),
      )
      .max(MAX_LEAKED, { error: `must hold at most ${MAX_LEAKED}` }),
    dry_run: z.boolean(),
    note,
  }),
  guild: z.object({ guild_id: guildId, note }),
  authorize: z.object({
    service: z.string().max(40),
    method: z.string().max(200),
    request: z
      .instanceof(Buffer)
      .refine(({ length }) => length <= MAX_REQUEST_BYTES, { error: `must have at most ${MAX_REQUEST_BYTES} bytes` }),
    note,
  }),
  addOperator: z.object({
    name: operatorName,
    role: z.enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` }),
    public_key: bytes(HASH_BYTES, 'an Ed25519 public key'),
    note,
  }),
  revokeOperator: z.object({ name: operatorName, note }),
};
