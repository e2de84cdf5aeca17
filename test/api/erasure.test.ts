import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { guildctl } from '#services/cli/guildctl.ts';
import { printFigure } from '../measure/figures.ts';
import { connect } from '../network/grpc.ts';
import { databaseRows, tablesWithRowsOf } from '../postgres/database.ts';
import { untilRequestsAreStored } from '../system/counted-requests.ts';
import { rowsOfGuild, untilDecisionsAreCommands } from '../system/guild-rows.ts';
import { GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

const PLAYER = { chat_id: '920000000000000004', game_id: 7004, game_username: 'Dmitri_2026' };
const MATE = { chat_id: '920000000000000005', game_id: 7005, game_username: 'EstherRows' };
const players = [PLAYER, MATE].map(({ game_id, game_username: username }) => ({ game_id, username }));
const HEARTBEAT = { server_id: 's1', place_id: 5, player_count: 2, max_players: 10, players };
const SERVICES = ['auth', 'lookup', 'bindings', 'members', 'activity', 'moderation', 'events'];

let network: Network;

beforeAll(async () => {
  network = await startNetwork();
  await writeData(GUILD);
  await writeData(OTHER_GUILD);
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

/** Writes data of every kind for a guild: about the player, and about another user whose data must stay unchanged. */
async function writeData(guild: string): Promise<string> {
  const { secret: key } = await network.createKey({ guildId: guild });
  const post = async (path: string, body: object, expected = [200, 201]) => {
    const response = await network.call(path, { method: 'POST', key, body: { guild_id: guild, ...body } });
    expect(expected, `${path} ${JSON.stringify(response.json)}`).toContain(response.status);
    return response.json.data;
  };
  for (const [user, other] of [
    [PLAYER, MATE],
    [MATE, PLAYER],
  ] as const) {
    const { chat_id, game_id, game_username } = user;
    const { code } = await post('/verification/tokens', { chat_id });
    await post('/verification/redeem', { code, game_id, game_username });
    const decider = { moderator_game_id: other.game_id, moderator_chat_id: other.chat_id };
    await post(`/moderation/${guild}/game/ban`, {
      game_id,
      game_username,
      reason: `${game_username} did it`,
      ...decider,
    });
    await post(`/moderation/${guild}/game/mute`, { game_id, reason: 'loud', ...decider });
    await post(`/moderation/${guild}/game/unmute`, { game_id, ...decider });
    await post('/staff/game/session/start', { game_id, game_username, server_id: 's1', place_id: 5 });
    const action = { action_type: 'kick', action_id: crypto.randomUUID(), details: { said: game_username } };
    await post('/staff/game/action', { actor_game_id: other.game_id, target_game_id: game_id, ...action });
  }
  await post('/game/servers/heartbeat', HEARTBEAT);
  await post('/game/games/register', { universe_id: 4, place_id: 5, name: 'Harbor' });
  await network.call('/verification/unlink', {
    method: 'POST',
    key,
    headers: { 'idempotency-key': 'once' },
    body: { guild_id: guild, chat_id: '920000000000000006' },
  });
  const target = ['--target', String(PLAYER.game_id), '--payload', '{}'];
  await json('commands', 'send', '--guild', guild, '--server', 's1', '--type', 'kick', ...target);
  const entry = ['--game-id', String(PLAYER.game_id), '--reason', 'x', '--category', 'y'];
  await json('shield', 'add', '--guild', guild, ...entry);
  await json('staff', 'set', '--guild', guild, '--role', '910000000000000001', '--level', '3', '--name', 'Officer');
  const errors = [PLAYER, MATE].map(({ chat_id }) => ({ chat_id, role_id: null, code: 'TIMEOUT', message: 'slow' }));
  await databaseRows(
    network.databaseUrl,
    `INSERT INTO members.sync_jobs (guild_id, id, game_group_id, state, total, errors, cause, position, due_at,
       created_at, finished_at)
     VALUES ($1, gen_random_uuid(), 501, 'failed', 2, $2, $3, $4, now(), now(), now())`,
    [guild, JSON.stringify(errors), JSON.stringify(errors[0]), PLAYER.chat_id],
  );
  const preview = `INSERT INTO members.binding_previews (guild_id, id, binding, total, named, position, state, finished_at)
    VALUES ($1, gen_random_uuid(), '{}', 2, $2, $3, 'done', now())`;
  await databaseRows(network.databaseUrl, preview, [guild, JSON.stringify(errors), PLAYER.chat_id]);
  const mirror = `WITH guild AS (INSERT INTO members.mirror_guilds (guild_id, shard_count, shard_id, session_epoch, epoch, owner_id,
      roles, bot_roles, seen_at) VALUES ($1, 1, 0, gen_random_uuid(), gen_random_uuid(), $2, '[]', '{}', now()))
    INSERT INTO members.mirror_members (guild_id, chat_id, username, roles, read_at, seen_at) SELECT $1, unnest($3::text[]), 'name', '{}', now(), now() ON CONFLICT DO NOTHING`;
  await databaseRows(network.databaseUrl, mirror, [guild, PLAYER.chat_id, [PLAYER.chat_id, MATE.chat_id]]);
  const command = `INSERT INTO auth.interactions (guild_id, id, chat_id, command, application_id, permissions, options, state, finished_at) VALUES ($1, $2, $2, 'verify', '1', '0', '{}', 'done', now())`;
  for (const { chat_id } of [PLAYER, MATE]) await databaseRows(network.databaseUrl, command, [guild, chat_id]);
  // Events that are not relayed yet.
  for (const service of ['lookup', 'bindings', 'members']) {
    await databaseRows(
      network.databaseUrl,
      `INSERT INTO ${service}.events (guild_id, number, type, source, persons, data, run_at)
       VALUES ($1, 1000, 'link.created', '{}', $2, $3, now() + interval '1 day')`,
      [guild, [`chat:${PLAYER.chat_id}`, `game:${PLAYER.game_id}`], JSON.stringify(PLAYER)],
    );
  }
  await untilDecisionsAreCommands(network.databaseUrl, guild);
  return key;
}

/** Returns the rows of a guild in all tables that contain one of the texts as a whole word. */
const rowsOf = (guild: string, ...texts: (string | number)[]) => rowsOfGuild(network.databaseUrl, guild, texts);

/** Removes the retry state of role changes, which differs because they fail in the other guild: it has no bot. */
function withoutRetries(rows: readonly string[]): string[] {
  return rows.map((row) => row.replace(/,queued,[0-9]+,"[0-9]{4}-[0-9-]+ [0-9:.+]+",.*$/, ')'));
}

const ofPlayer = Object.values(PLAYER);
const ofMate = Object.values(MATE);

describe('guildctl user export', () => {
  // oxlint-disable-next-line typescript/no-explicit-any -- tests access only fields that they expect
  type Document = { guilds: { guild_id: string; services: Record<string, Record<string, any[]>> }[] };

  it('contains every row that erasing would delete or anonymise, by service and table, and no other user', async () => {
    const words = ['--guild', GUILD, '--game-id', String(PLAYER.game_id)];
    const counted = await json('user', 'erase', ...words, '--dry-run');
    const document = (await json('user', 'export', ...words)) as Document;
    expect(document).toMatchObject({ chat_id: null, game_id: PLAYER.game_id });
    const [guild, ...others] = document.guilds;
    expect(others).toEqual([]);
    expect(guild).toMatchObject({ guild_id: GUILD, chat_id: PLAYER.chat_id, game_id: PLAYER.game_id });
    const rows = Object.values(guild?.services ?? {}).flatMap((tables) => Object.entries(tables));
    expect(Object.fromEntries(rows.map(([table, found]) => [table, found.length]))).toEqual(
      Object.fromEntries(
        counted.removed.map(({ table, rows: count }: { table: string; rows: number }) => [table, count]),
      ),
    );
    expect(guild?.services['lookup']?.['lookup.links']).toMatchObject([PLAYER]);
    const text = JSON.stringify(document);
    for (const value of [MATE.game_id, MATE.chat_id, MATE.game_username]) expect(text).not.toContain(String(value));
    expect(text).not.toMatch(/token_mac|code_mac|digest|salt/);
  });

  it('covers every guild of the user, and reports progress', async () => {
    const { status, out, error } = await run('user', 'export', '--everywhere', '--game-id', String(PLAYER.game_id));
    expect(status).toBe(0);
    expect((JSON.parse(out) as Document).guilds.map(({ guild_id: id }) => id)).toEqual([GUILD, OTHER_GUILD]);
    expect(error).toBe(`guild 1 of 2: guild ${GUILD}\nguild 2 of 2: guild ${OTHER_GUILD}\n`);
    expect(await json('user', 'export', '--everywhere', '--game-id', '999')).toEqual({
      chat_id: null,
      game_id: 999,
      guilds: [],
    });
  });
});

describe('guildctl user erase', () => {
  it('counts rows, then removes only the user and the linked account from every row of the guild', async () => {
    const words = ['user', 'erase', '--guild', GUILD, '--game-id', String(PLAYER.game_id)];
    const before = await rowsOf(GUILD, ...ofPlayer);
    const elsewhere = withoutRetries(await rowsOf(OTHER_GUILD, ...ofPlayer));
    expect(before.length).toBeGreaterThan(15);
    const counted = await json(...words, '--dry-run');
    expect(counted).toMatchObject({ guild_id: GUILD, chat_id: PLAYER.chat_id, game_id: PLAYER.game_id, dry_run: true });
    expect(counted.removed).toContainEqual({ service: 'activity', table: 'activity.staff_days', rows: 1 });
    expect(await rowsOf(GUILD, ...ofPlayer)).toEqual(before);
    const mates = (await rowsOf(GUILD, ...ofMate)).length;

    const erased = await json(...words, '--yes');
    expect(erased).toEqual({ ...counted, dry_run: false });
    expect(await rowsOf(GUILD, ...ofPlayer)).toEqual([]);
    expect(withoutRetries(await rowsOf(OTHER_GUILD, ...ofPlayer))).toEqual(elsewhere);
    // Bans and actions that concern both users stay, but no longer identify the erased one.
    const left = await rowsOf(GUILD, ...ofMate);
    printFigure(
      'rows of a user erased, and rows of a mate before and after',
      `${erased.total}, ${mates}, ${left.length}`,
    );
    expect(left.some((row) => row.includes('EstherRows did it'))).toBe(true);
    expect(left.some((row) => row.includes(',kick,') && row.includes('7005'))).toBe(true);
    expect(await json(...words, '--yes')).toMatchObject({ chat_id: null, total: 0 });
  }, 60_000);

  it('writes an audit entry that does not identify the user', async () => {
    const { entries } = await json('audit', 'list', '--guild', GUILD);
    const noted = entries.filter(({ action }: { action: string }) => action === 'erase_user');
    expect(noted.map(({ details }: { details: { state: string } }) => details.state)).toEqual([
      'done',
      'begun',
      'done',
      'begun',
    ]);
    expect(noted[2]).toMatchObject({ actor: 'root', key_id: null, details: { removed: { 'lookup.links': 1 } } });
    expect(JSON.stringify(noted)).not.toMatch(/\b(?:7004|920000000000000004)\b|Dmitri/);
    expect((await run('audit', 'list', '--guild', GUILD)).out).toMatch(/root +auth +erase_user +- +\{"state":"done"/);
    // Audit entries of other services stay too, but no longer identify the user.
    const flagged = entries.find(({ action }: { action: string }) => action === 'AddEntry');
    expect(flagged).toMatchObject({ actor: 'root', service: 'moderation', details: null });
    expect(JSON.stringify(entries)).not.toMatch(/\b(?:7004|920000000000000004)\b|Dmitri/);
    expect(await json('audit', 'verify', '--guild', GUILD)).toMatchObject({ first_break: null });
  });

  it('is visible on every replica immediately: a banned user is no longer banned', async () => {
    const { secret: key } = await network.createKey({ guildId: GUILD });
    const status = async (id: number) =>
      (await network.call(`/moderation/${GUILD}/ban-status/${id}`, { key })).json.data.banned;
    expect([await status(PLAYER.game_id), await status(MATE.game_id)]).toEqual([false, true]);
    await json('user', 'erase', '--guild', GUILD, '--chat-id', MATE.chat_id, '--yes');
    expect(await status(MATE.game_id)).toBe(false);
    expect(await rowsOf(GUILD, ...ofMate)).toEqual([]);
  });
});

describe('guildctl guild erase', () => {
  it('revokes the keys, deletes every row except the audit, and leaves other guilds unchanged', async () => {
    const { secret: key } = await network.createKey({ guildId: OTHER_GUILD });
    expect((await network.call('/whoami', { key })).status).toBe(200);
    // Otherwise the event that this server is offline could appear in the other guild before the end of this test.
    const { secret: othersKey } = await network.createKey({ guildId: GUILD });
    const heartbeat = { guild_id: GUILD, ...HEARTBEAT };
    const beat = await network.call('/game/servers/heartbeat', { method: 'POST', key: othersKey, body: heartbeat });
    expect(beat.status).toBe(200);
    await untilRequestsAreStored(network, OTHER_GUILD);
    const others = (await rowsOf(GUILD, '.*')).length;
    const counted = await run('guild', 'erase', '--guild', OTHER_GUILD, '--dry-run');
    expect(counted.out).toMatch(/^Nothing was changed\. There are \d+ rows\n\nSERVICE +TABLE +ROWS\nmoderation/);
    expect((await network.call('/whoami', { key })).status).toBe(200);

    const begun = Date.now();
    const erasing = run('guild', 'erase', '--guild', OTHER_GUILD, '--yes', '--actor', 'grace');
    // Before the 15 s in which all gateways receive the revocation.
    await expect.poll(async () => (await network.call('/whoami', { key })).status, { timeout: 10_000 }).toBe(401);
    const { status, out, error } = await erasing;
    printFigure('erasing a guild, of which 15 s are for gateways to hear of its keys', `${Date.now() - begun} ms`);
    expect({ status, error }).toEqual({
      status: 0,
      error: expect.stringContaining('auth: waiting until more rows can be erased'),
    });
    for (const table of ['links', 'log', 'verification_tokens', 'sessions', 'keys', 'audit'])
      expect(out).toContain(table);
    const left = await databaseRows<{ action: string; details: object | null }>(
      network.databaseUrl,
      'SELECT action, details FROM auth.audit WHERE guild_id = $1 ORDER BY sequence',
      [OTHER_GUILD],
    );
    const [kept, emptied] = [true, false].map((isKept) => left.filter(({ details }) => (details !== null) === isKept));
    expect(new Set(kept?.map(({ action }) => action))).toEqual(new Set(['EraseGuild', 'erase_guild']));
    expect(JSON.stringify(kept)).toContain('"note":"grace"');
    expect(emptied?.map(({ action }) => action)).toContain('AddEntry');
    // The audit with the end and the signatures of its chain, the number of the next key, and of the next events.
    const tables = await tablesWithRowsOf(network.databaseUrl, SERVICES, OTHER_GUILD);
    const isCounter = (table: string) => /\.event_counters$|^auth\.audit_|^events\.(?:counters|sources)$/.test(table);
    expect(tables.filter((table) => !isCounter(table))).toEqual(['auth.audit', 'auth.guilds']);
    expect(tables).toEqual(expect.arrayContaining(['lookup.event_counters', 'events.counters']));
    expect(await json('audit', 'verify', '--guild', OTHER_GUILD)).toMatchObject({ first_break: null });
    expect((await rowsOf(GUILD, '.*')).length).toBe(others);
    const again = await run('guild', 'erase', '--guild', OTHER_GUILD, '--yes');
    expect(again).toEqual({ status: 0, out: 'Nothing was left to erase.\n', error: '' });
  }, 90_000);

  it('is rejected by a service while the keys are not revoked', async () => {
    const { client, close } = connect(ErasureServiceService, 'auth', network.address('auth', 'grpc'), undefined, [
      network.secrets.admin,
    ]);
    const request = { guildId: GUILD, dryRun: false };
    await expect(client.eraseGuild(request)).rejects.toMatchObject({ code: 'CONFLICT' });
    close();
    const internal = connect(ErasureServiceService, 'auth', network.address('auth', 'grpc'), undefined, [
      network.secrets.internal,
    ]);
    await expect(internal.client.eraseGuild(request)).rejects.toMatchObject({ code: 'INTERNAL' });
    internal.close();
  });
});

it.each([
  [['guild', 'erase', '--guild', GUILD], 'give exactly one of --dry-run, --yes'],
  [['guild', 'erase', '--guild', GUILD, '--yes', '--dry-run'], 'give exactly one of --dry-run, --yes'],
  [['user', 'erase', '--game-id', '7', '--yes'], 'give exactly one of --guild, --everywhere'],
  [['guild', 'erase', '--yes'], '--guild is required'],
  [['guild', 'erase', '--guild', '0', '--dry-run'], '--guild must be a guild ID'],
  [['user', 'erase', '--guild', GUILD, '--yes'], 'give exactly one of --game-id, --chat-id'],
  [['user', 'erase', '--guild', GUILD, '--game-id', 'x', '--yes'], '--game-id must be a whole number'],
  [['user', 'erase', '--guild', GUILD, '--chat-id', '12', '--yes'], 'the account must be a chat ID'],
])('%j fails without changes and reports the reason', async (words, message) => {
  const { status, out, error } = await run(...words);
  expect({ status, out }).toEqual({ status: 1, out: '' });
  expect(error).toContain(message);
});
