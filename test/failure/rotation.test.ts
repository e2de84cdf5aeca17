import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import { connect } from '../network/grpc.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';

const [OLD, NEW] = ['the old internal secret of these tests', 'the new internal secret of these tests'];
const [OLD_ADMIN, NEW_ADMIN] = [
  'the old secret of administrators in tests',
  'the new secret of administrators in tests',
];

let network: Network;

beforeAll(async () => {
  network = await startNetwork({ environment: { INTERNAL_SECRETS: OLD, ADMIN_SECRETS: OLD_ADMIN } });
});
afterAll(() => network.stop());

/** Creates a key like guildctl, which has one secret. */
async function createKey(secret: string): Promise<string> {
  const address = network.address('auth', 'grpc');
  const { client, close } = connect(KeyAdminServiceService, 'auth', address, systemClock, [secret]);
  try {
    const scopes = [...SCOPES];
    const request = { guildId: GUILD, name: 'test', legacy: false, scopes, ipAllowlist: [], actor: 'test' };
    const made = await client.createKey(request);
    await client.revokeKey({ keyId: made.key?.id ?? '', actor: 'test' });
    return (await client.createKey(request)).secret;
  } finally {
    close();
  }
}

/** Requests that use every connection between processes, including members and activity to others. */
async function statuses(key: string): Promise<number[]> {
  const call = { key, headers: { 'x-guild-id': GUILD } };
  const calls = [
    '/lookup/game/7001',
    '/bindings/list',
    `/guilds/${GUILD}/verified`,
    `/guilds/${GUILD}/staff/game/7001/permissions`,
    `/moderation/${GUILD}/ban-status/7001`,
  ];
  const answers = await Promise.all(calls.map((path) => network.call(path, call)));
  return answers.map(({ status }) => status);
}

test('INTERNAL_SECRETS and ADMIN_SECRETS are rotated one process after the other, and every call succeeds', async () => {
  let key = await createKey(OLD_ADMIN);
  await network.call('/verification/link', {
    method: 'POST',
    key,
    body: { guild_id: GUILD, chat_id: '920000000000000001', game_id: 7001 },
  });
  const good = [200, 200, 200, 200, 200];
  expect(await statuses(key)).toEqual(good);
  // First all processes get the new secret, then all use it, then the old one is removed from all.
  const steps = [
    [`${OLD},${NEW}`, `${OLD_ADMIN},${NEW_ADMIN}`],
    [`${NEW},${OLD}`, `${NEW_ADMIN},${OLD_ADMIN}`],
    [NEW, NEW_ADMIN],
  ];
  for (const [internal, admin] of steps) {
    for (const name of network.services.keys()) {
      const ports = { ...network.samePorts(name), GATEWAY_PORT: network.address('gateway', 'http').split(':').at(-1) };
      await network.services.get(name)?.stop();
      await network.startOne(name, { ...ports, INTERNAL_SECRETS: internal, ADMIN_SECRETS: admin });
      await expect.poll(() => statuses(key)).toEqual(good);
    }
    key = await createKey(admin?.split(',')[0] ?? '');
  }
  await expect(createKey(OLD_ADMIN)).rejects.toMatchObject({ name: 'ApiError' });
}, 120_000);
