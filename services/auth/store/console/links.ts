import type { Queryable } from '#kit/postgres/pool.ts';
import type { GuildRole } from '#proto/console/roles.ts';

/** A one-time link that signs a person in to a guild. */
export interface LinkRow {
  linkId: string;
  guildId: string;
  role: GuildRole;
  expiresAt: Date;
}

/** Makes a guild known that has no keys yet. */
export async function insertGuild(transaction: Queryable, guildId: string): Promise<void> {
  await transaction.query(
    'INSERT INTO auth.guilds (guild_id, next_number) VALUES ($1, 1) ON CONFLICT (guild_id) DO NOTHING',
    [guildId],
  );
}

export async function insertLink(
  transaction: Queryable,
  link: Omit<LinkRow, 'linkId'> & { tokenHash: Buffer; createdBy: string },
  now: Date,
): Promise<LinkRow> {
  const [inserted] = await transaction.query<LinkRow>(
    `INSERT INTO auth.sign_in_links (guild_id, token_hash, role, created_by, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     RETURNING guild_id AS "guildId", link_id AS "linkId", role, expires_at AS "expiresAt"`,
    [link.guildId, link.tokenHash, link.role, link.createdBy, now, link.expiresAt],
  );
  if (!inserted) throw new Error('no link was returned');
  return inserted;
}

/** Deletes a link and returns it; undefined if it is unknown, used or expired. Of concurrent calls one gets it. */
export async function takeLink(
  transaction: Queryable,
  guildId: string,
  tokenHash: Buffer,
  now: Date,
): Promise<LinkRow | undefined> {
  const [taken] = await transaction.query<LinkRow>(
    `DELETE FROM auth.sign_in_links WHERE guild_id = $1 AND token_hash = $2 AND expires_at > $3
     RETURNING guild_id AS "guildId", link_id AS "linkId", role, expires_at AS "expiresAt"`,
    [guildId, tokenHash, now],
  );
  return taken;
}
