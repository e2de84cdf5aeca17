import { vi } from 'vitest';
import { ROUTES } from '#proto/rest/index.ts';
import { PATIENCE } from '../patience.ts';
import { databaseRows } from '../postgres/database.ts';
import { GUILD, type Network } from './system.ts';

/** Causes every counted event, and calls every route. */
export async function exercise(network: Network, key: string): Promise<void> {
  const post = (path: string, body: object, headers = {}) =>
    network.call(path, { method: 'POST', key, headers, body: { guild_id: GUILD, ...body } });
  for (const { method, path } of ROUTES) {
    const filledIn = path.replace(':guildId', GUILD).replaceAll(/:\w+/g, '910000000000000001');
    const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { guild_id: GUILD } : undefined;
    await network.call(filledIn, { method, key, headers: { 'x-guild-id': GUILD }, body });
  }
  await post('/bindings/validate', { game_group_id: 7, min_rank: 1, max_rank: 2 });
  await post('/verification/link', { chat_id: '920000000000000001', game_id: 7001 });
  await post('/sync/roles', { chat_id: '920000000000000001' });
  await post('/game/servers/heartbeat', { server_id: 'one', place_id: 40001, player_count: 1, max_players: 2 });
  await post(`/moderation/${GUILD}/game/ban`, { game_id: 7001, reason: 'Cheats' });
  await network.call(`/moderation/${GUILD}/ban-status/7001`, { key });
  await network.call('/whoami', { key: `${key}x` });
  await fetch(`http://${network.address('lookup', 'http')}/api/v1/lookup/chat/920000000000000001`);
  const other = await network.createKey();
  await network.call('/whoami', { key: other.secret });
  await network.admin().revokeKey({ keyId: other.id, actor: 'test' });
  await takeCommand(network, key);
  await listWithoutNames(network);
  const console = `http://${network.address('console', 'http')}/console`;
  await fetch(`${console}/providers`);
  await fetch(`${console}/sign-in/oidc`, { redirect: 'manual' });
  await vi.waitUntil(async () => (await network.call('/whoami', { key: other.secret })).status === 401, PATIENCE);
}

/** The live server receives the ban as a command and acknowledges it. */
async function takeCommand(network: Network, key: string): Promise<void> {
  const call = { key, headers: { 'x-guild-id': GUILD } };
  const commands = '/game/servers/one/commands';
  const id = await vi.waitUntil(async () => {
    const { json } = await network.call(commands, call);
    return json.data.commands[0]?.command_id as string | undefined;
  }, PATIENCE);
  const body = { guild_id: GUILD, status: 'success' };
  await network.call(`${commands}/${id}/ack`, { method: 'POST', key, body });
}

/** Lists the bindings of a guild that does not exist on the chat platform. */
async function listWithoutNames(network: Network): Promise<void> {
  const guildId = '990000000000000001';
  await databaseRows(
    network.databaseUrl,
    `INSERT INTO bindings.bindings
       (guild_id, chat_role_id, type, account_age_platform, account_age_min_days, created_at, updated_at)
     VALUES ($1, '910000000000000001', 'account_age', 'game', 7, now(), now())`,
    [guildId],
  );
  const own = await network.createKey({ guildId });
  await network.call('/bindings/list', { key: own.secret, headers: { 'x-guild-id': guildId } });
}
