import { readApiKey } from '#kit/security/api-key.ts';
import { type Key, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import type { GuildWriter, Turn } from './guild-writer.ts';

const NAME = 'short-lived';
const DAY_SECONDS = 24 * 3600;

const request = (guildId: string, name: string) => ({
  guildId,
  name,
  legacy: false,
  scopes: ['lookup:read'],
  ipAllowlist: [],
  actor: 'test',
});

/** Revokes all short-lived keys, also those of calls that created a key and got no answer. */
async function revokeAll(writer: GuildWriter): Promise<void> {
  await writer.operate('auth', KeyAdminServiceService, async (client) => {
    const { keys } = await client.listKeys({ guildId: writer.guild, limit: 100, cursor: '' });
    for (const { id } of keys.filter(isShortLived)) {
      await client.revokeKey({ keyId: id, actor: 'test' });
      writer.confirm('key.revoked', id);
    }
  });
}

const isShortLived = ({ name, revokedAt }: Key) => name.startsWith(NAME) && revokedAt === undefined;

/** Creates, edits and rotates a key, and revokes it or finds it in public. The first turn also creates one that expires. */
export const keysTurn: Turn = async (writer, turn) => {
  const { guild } = writer;
  const operate: GuildWriter['operate'] = (...call) => writer.operate(...call);
  const auth = KeyAdminServiceService;
  if (turn === 0) {
    const expiresAt = Math.floor(Date.now() / 1000) + DAY_SECONDS;
    const { key } = await operate('auth', auth, (client) =>
      client.createKey({ ...request(guild, 'expires'), expiresAt }),
    );
    writer.confirm('key.expiring', key?.id ?? '');
  }
  const { key, secret } = await operate('auth', auth, (client) => client.createKey(request(guild, NAME)));
  const keyId = key?.id ?? '';
  writer.confirm('key.created', keyId);
  await operate('auth', auth, (client) => client.updateKey({ keyId, name: `${NAME} ${turn}`, actor: 'test' }));
  await operate('auth', auth, (client) => client.rotateKey({ keyId, graceSeconds: 60, actor: 'test' }));
  writer.confirm('key.changed', keyId);
  writer.confirm('key.changed', keyId);
  if (turn % 2 === 1) {
    const leaked = { guildId: guild, hash: readApiKey(secret)?.hash as Buffer, url: '', source: 'test' };
    await operate('auth', auth, (client) => client.revokeLeakedKeys({ keys: [leaked], dryRun: false, actor: 'test' }));
    writer.confirm('key.leaked', keyId);
    writer.confirm('key.revoked', keyId);
  }
  await revokeAll(writer);
};
