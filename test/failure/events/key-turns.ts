import { readApiKey } from '#kit/security/api-key.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import type { GuildWriter, Turn } from './guild-writer.ts';

const AUTH = KeyAdminServiceService;
const SHORT_LIVED = 'short-lived';
const OF_WEBHOOK = 'of a webhook';
const DAY_SECONDS = 24 * 3600;
const TURNS_PER_WEBHOOK = 3;
/** Nothing is stored about these players. */
const FIRST_ERASED = 9_000_000;

interface NewKey {
  id: string;
  secret: string;
}

async function createKey(
  writer: GuildWriter,
  settings: { name: string; scopes: string[]; expiresAt?: number },
): Promise<NewKey> {
  const request = { guildId: writer.guild, legacy: false, ipAllowlist: [], actor: 'test', ...settings };
  const { key, secret } = await writer.operate('auth', AUTH, (client) => client.createKey(request));
  const id = key?.id ?? '';
  writer.confirm('key.created', id);
  return { id, secret };
}

/** Revokes all keys whose name begins so, also those of calls that created a key and got no answer. */
async function revokeAll(writer: GuildWriter, name: string): Promise<void> {
  await writer.operate('auth', AUTH, async (client) => {
    const { keys } = await client.listKeys({ guildId: writer.guild, limit: 100, cursor: '' });
    for (const key of keys.filter((one) => one.name.startsWith(name) && one.revokedAt === undefined)) {
      await client.revokeKey({ keyId: key.id, actor: 'test' });
      writer.confirm('key.revoked', key.id);
    }
  });
}

/** Creates, edits and rotates a key, and revokes it or finds it in public. The first turn also creates one that expires. */
export const keysTurn: Turn = async (writer, turn) => {
  const scopes = ['lookup:read'];
  if (turn === 0) {
    const expiresAt = Math.floor(Date.now() / 1000) + DAY_SECONDS;
    const { id } = await createKey(writer, { name: 'expires', scopes, expiresAt });
    writer.confirm('key.expiring', id);
  }
  const { id: keyId, secret } = await createKey(writer, { name: SHORT_LIVED, scopes });
  const name = `${SHORT_LIVED} ${turn}`;
  await writer.operate('auth', AUTH, (client) => client.updateKey({ keyId, name, actor: 'test' }));
  await writer.operate('auth', AUTH, (client) => client.rotateKey({ keyId, graceSeconds: 60, actor: 'test' }));
  writer.confirm('key.changed', keyId);
  writer.confirm('key.changed', keyId);
  if (turn % 2 === 1) {
    const leaked = { guildId: writer.guild, hash: readApiKey(secret)?.hash as Buffer, url: '', source: 'test' };
    const request = { keys: [leaked], dryRun: false, actor: 'test' };
    await writer.operate('auth', AUTH, (client) => client.revokeLeakedKeys(request));
    writer.confirm('key.leaked', keyId);
    writer.confirm('key.revoked', keyId);
  }
  await revokeAll(writer, SHORT_LIVED);
};

/** Creates a webhook and revokes the key that created it, which disables it. */
export const webhooksTurn: Turn = async (writer, turn) => {
  if (turn % TURNS_PER_WEBHOOK !== 0) return;
  const { secret } = await createKey(writer, { name: OF_WEBHOOK, scopes: ['webhooks:read', 'webhooks:write'] });
  const { id } = await writer.postAs(secret, '/webhooks', { url: writer.receiver, types: ['key.*'] });
  await revokeAll(writer, OF_WEBHOOK);
  writer.confirm('webhook.disabled', id);
};

/** Erases a player, which is reported even if nothing is stored about the player. */
export const erasuresTurn: Turn = async (writer, turn) => {
  const request = { guildId: writer.guild, gameId: FIRST_ERASED + turn, dryRun: false };
  await writer.operate('events', ErasureServiceService, (client) => client.eraseUser(request));
  writer.confirm('person.erased', request.gameId);
};
