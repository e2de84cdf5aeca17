import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { guildctl } from '#services/cli/guildctl.ts';
import { databaseRows } from '../postgres/database.ts';
import { dumpDatabase } from '../system/canaries.ts';
import { type Network, startNetwork } from '../system/system.ts';

const SERVICES = ['auth', 'lookup', 'bindings', 'members', 'activity', 'moderation', 'events'];

let network: Network;

beforeAll(async () => {
  network = await startNetwork();
}, 180_000);
afterAll(() => network.stop());

async function run(...words: string[]) {
  const said = { out: '', error: '' };
  const addresses = SERVICES.map((name) => [`GUILDCTL_${name.toUpperCase()}`, network.address(name, 'grpc')]);
  const status = await guildctl(words, {
    environment: { ...Object.fromEntries(addresses), ADMIN_SECRETS: network.secrets.admin },
    user: 'ada',
    out: (text) => (said.out += text),
    error: (text) => (said.error += text),
  });
  return { status, ...said };
}

async function json(...words: string[]) {
  const { status, out, error } = await run(...words, '--json');
  expect({ status, error }).toEqual({ status: 0, error: '' });
  return JSON.parse(out);
}

describe('guildctl user erase --everywhere', () => {
  it('erases a user from every guild and from entries for all guilds, and can be repeated', async () => {
    const nomad = { chat_id: '920000000000000077', game_id: 7077, game_username: 'NomadOfGuilds' };
    const guilds = Array.from({ length: 7 }, (_, index) => String(900000000000000100n + BigInt(index)));
    for (const guild of guilds) {
      await databaseRows(
        network.databaseUrl,
        `INSERT INTO moderation.shield (guild_id, game_id, reason, category, source, flagged_at, expires_at, actor)
         VALUES ($1, $2, 'x', 'y', 'z', now(), 'infinity', 'root')`,
        [guild, nomad.game_id],
      );
      await databaseRows(
        network.databaseUrl,
        `INSERT INTO activity.actions (guild_id, action_id, actor_game_id, action_type, occurred_at, created_at)
         VALUES ($1, gen_random_uuid(), $2, 'kick', now(), now())`,
        [guild, nomad.game_id],
      );
    }
    await json('shield', 'add', '--game-id', String(nomad.game_id), '--reason', 'x', '--category', 'y');
    const words = ['user', 'erase', '--everywhere', '--game-id', String(nomad.game_id)];
    const counted = await json(...words, '--dry-run');
    expect(counted).toMatchObject({ everywhere: true, game_id: nomad.game_id, chat_id: null, dry_run: true });
    const { status, out, error } = await run(...words, '--yes', '--json');
    expect({ status, error }).toEqual({ status: 0, error: '' });
    expect(JSON.parse(out)).toEqual({ ...counted, dry_run: false });
    expect(counted.removed).toEqual(
      expect.arrayContaining([
        { service: 'moderation', table: 'moderation.shield', rows: guilds.length + 1 },
        { service: 'activity', table: 'activity.actions', rows: guilds.length },
        // The database counts the actions of each day.
        { service: 'activity', table: 'activity.staff_days', rows: guilds.length },
      ]),
    );
    const rows = (await dumpDatabase(network.databaseUrl)).split('\n');
    const left = rows.filter((row) => /(?<![0-9A-Za-z])7077(?![0-9A-Za-z])/.test(row));
    // Only the events that tell mirrors of the data whom to erase name the user, one in each guild.
    expect(left.filter((row) => !row.includes(',person.erased,'))).toEqual([]);
    expect(left).toHaveLength(guilds.length);
    expect(await json(...words, '--yes')).toMatchObject({ guilds: 0, total: 0 });
    expect(await json('audit', 'verify', '--all')).toMatchObject({ broken_chains: 0 });
  }, 60_000);
});
