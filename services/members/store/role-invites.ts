import { ApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { MemberName } from './roles.ts';

/** The terms of an invite. */
export interface InviteTerms {
  channelId: string;
  roleIds: readonly string[];
}

export interface StoredInvite {
  url: string;
  expiresAt: Date;
}

/** Returns the invite of an account with these terms, if it was created within the last seconds. */
export async function findRecentInvite(
  on: Queryable,
  { guildId, chatId }: MemberName,
  { channelId, roleIds }: InviteTerms,
  seconds: number,
): Promise<StoredInvite | undefined> {
  const [invite] = await on.query<StoredInvite>(
    `SELECT url, expires_at AS "expiresAt" FROM members.role_invites
     WHERE guild_id = $1 AND chat_id = $2 AND channel_id = $3 AND role_ids = $4 AND url IS NOT NULL
       AND created_at > clock_timestamp() - $5 * interval '1 s'`,
    [guildId, chatId, channelId, roleIds, seconds],
  );
  return invite;
}

/**
 * Stores that an invite will be created, before the platform is called, together with the grants of `granted`: otherwise a
 * role of an invite that a killed process has created would never be removed.
 */
export async function beginInvite(
  on: Queryable,
  { guildId, chatId }: MemberName,
  { channelId, roleIds, granted, maxAgeSeconds }: InviteTerms & { granted: readonly string[]; maxAgeSeconds: number },
): Promise<void> {
  await on.query(
    `WITH granted AS (
       INSERT INTO members.grants (guild_id, chat_id, role_id, created_at)
       SELECT $1, $2, role_id, clock_timestamp() FROM unnest($5::text[]) role_id ON CONFLICT DO NOTHING
     )
     INSERT INTO members.role_invites (guild_id, chat_id, channel_id, role_ids, created_at, expires_at, kept_until)
     SELECT $1, $2, $3, $4, now, now + $6 * interval '1 s', now + $6 * interval '1 s' FROM clock_timestamp() now
     ON CONFLICT (guild_id, chat_id) DO UPDATE SET channel_id = excluded.channel_id, role_ids = excluded.role_ids,
       url = NULL, created_at = excluded.created_at, expires_at = excluded.expires_at,
       kept_until = greatest(role_invites.kept_until, excluded.kept_until)`,
    [guildId, chatId, channelId, roleIds, granted, maxAgeSeconds],
  );
}

/** Stores the address of an invite that the platform has created, and until when it is valid. */
export async function endInvite(
  on: Queryable,
  { guildId, chatId }: MemberName,
  { url, expiresAt }: { url: string; expiresAt: Date | null },
): Promise<Date> {
  const [row] = await on.query<{ expiresAt: Date }>(
    `UPDATE members.role_invites SET url = $3, expires_at = coalesce($4, expires_at)
     WHERE guild_id = $1 AND chat_id = $2 RETURNING expires_at AS "expiresAt"`,
    [guildId, chatId, url, expiresAt],
  );
  // Only an erasure in between deletes the row.
  if (!row) throw new ApiError('CONFLICT', { message: 'The data of this user was erased meanwhile' });
  return row.expiresAt;
}

/** Returns the accounts whose invite has not expired, or was accepted a moment ago. */
export async function findInvited(on: Queryable, guildId: string, chatIds: readonly string[]): Promise<string[]> {
  const found = await on.query<{ chatId: string }>(
    `SELECT chat_id AS "chatId" FROM members.role_invites
     WHERE guild_id = $1 AND chat_id = ANY($2) AND kept_until > clock_timestamp()`,
    [guildId, chatIds],
  );
  return found.map(({ chatId }) => chatId);
}
