import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { ActivityFixture, ADMIN_SECRET, newGuild } from '#services/activity/fixture.ts';
import { startAuthForOperators, type TestAuth } from '#test/system/auth.ts';
import { guildctlJson, runGuildctl } from '../../fixtures/guildctl.ts';

const fixture = new ActivityFixture();
let auth: TestAuth;
beforeAll(async () => {
  await fixture.start();
  auth = await startAuthForOperators(fixture.testDatabase.url);
  // guildctl uses the machine's clock.
  await fixture.advance(systemClock.now() - fixture.clock.now());
});
afterAll(async () => {
  await auth.stop();
  await fixture.stop();
});

const environment = () => ({
  GUILDCTL_AUTH: auth.address,
  GUILDCTL_ACTIVITY: fixture.activity.addresses.grpc,
  ADMIN_SECRETS: ADMIN_SECRET,
});
const run = (...words: string[]) => runGuildctl(words, environment());
const json = (...words: string[]) => guildctlJson<Record<string, unknown[]>>(words, environment());

const idOf = (command: unknown) => (command as { command_id: string }).command_id;

test('commands send, list and show print the documented output', async () => {
  const guild = newGuild();
  const details = ['--target', '7001', '--payload', '{"reason":"spam"}', '--ttl', '600'];
  const sent = await json('commands', 'send', '--guild', guild, '--server', 'a', '--type', 'kick', ...details);
  const now = Math.floor(fixture.clock.now() / 1000);
  expect(sent).toEqual({ command_ids: [expect.any(String)], servers: 1, expires_at: now + 600 });
  const id = String(sent['command_ids']?.[0]);
  const none = { delivered: 0, succeeded: 0, failed: 0, rejected: 0, expired: 0, cancelled: 0 };
  const command = {
    command_id: id,
    server_id: 'a',
    place_id: null,
    type: 'kick',
    target: { game_id: 7001, game_username: null },
    payload: { reason: 'spam' },
    issued_by: 'operator',
    created_at: now,
    expires_at: now + 600,
    cancelled_at: null,
    state: 'open',
    outcome: { servers: 1, ...none },
  };
  expect(await json('commands', 'list', '--guild', guild)).toEqual({ commands: [command], next_cursor: null });
  const [delivered] = await fixture.take('a', '', { guildId: guild });
  expect(delivered?.['issued_by']).toBe('operator');
  await fixture.ack('a', id, { status: 'failed', error: 'gone', result: [1] }, { guildId: guild });
  expect(await json('commands', 'show', id, '--guild', guild)).toEqual({
    command: { ...command, state: 'finished', outcome: { servers: 1, ...none, delivered: 1, failed: 1 } },
    servers: [{ server_id: 'a', state: 'failed', attempt: 1, acked_at: now, result: [1], error: 'gone' }],
    next_cursor: null,
  });
  const listed = (await run('commands', 'list', '--guild', guild)).out;
  expect(listed).toMatch(/a +kick +7001 +finished +1 +1 delivered, 1 failed +operator/);
});

test('commands list and show print pages, and list filters by time', async () => {
  const guild = newGuild();
  for (const server of ['a', 'b', 'c']) await fixture.beat(server, {}, { guildId: guild });
  const ids: string[] = [];
  for (let count = 0; count < 3; count++) ids.push(...(await fixture.enqueue({ guildId: guild })).commandIds);
  const first = await json('commands', 'list', '--guild', guild, '--limit', '2');
  expect(first['commands']?.map(idOf)).toEqual([ids[2], ids[1]]);
  const rest = await json('commands', 'list', '--guild', guild, '--cursor', String(first['next_cursor']));
  expect(rest).toMatchObject({ commands: [{ command_id: ids[0] }], next_cursor: null });
  const every = await json('commands', 'list', '--guild', guild, '--all');
  expect(every['commands']?.map(idOf)).toEqual(ids.toReversed());
  await fixture.database.query(
    'UPDATE activity.commands SET created_at = $3 WHERE guild_id = $1 AND command_id <> $2',
    [guild, ids[2], new Date(Date.now() - 2 * 3_600_000)],
  );
  const recent = await json('commands', 'list', '--guild', guild, '--since', '1h');
  expect(recent['commands']?.map(idOf)).toEqual([ids[2]]);
  const shown = await json('commands', 'show', ids[0] ?? '', '--guild', guild, '--limit', '2');
  expect(shown['servers']).toMatchObject([{ server_id: 'a' }, { server_id: 'b' }]);
  const others = await json('commands', 'show', ids[0] ?? '', '--guild', guild, '--cursor', 'b');
  expect(others).toMatchObject({ servers: [{ server_id: 'c', state: 'queued' }], next_cursor: null });
});

test('commands send --all requires --yes, and prints the number of servers without it', async () => {
  const guild = newGuild();
  await fixture.beat('a', { place_id: 5 }, { guildId: guild });
  await fixture.beat('b', { place_id: 6 }, { guildId: guild });
  const words = ['commands', 'send', '--guild', guild, '--type', 'shutdown', '--all'];
  const unconfirmed = await run(...words);
  expect({ ...unconfirmed, error: '' }).toEqual({ status: 1, out: '', error: '' });
  expect(unconfirmed.error).toContain(`sends "shutdown" to 2 live servers, all of guild ${guild}`);
  expect(unconfirmed.error).toContain('--yes');
  expect(await json('commands', 'list', '--guild', guild)).toMatchObject({ commands: [] });
  expect(await json(...words, '--yes')).toMatchObject({ command_ids: [expect.any(String)], servers: 2 });
});

test('commands send --place sends to the live servers of a place, and reports if there are none', async () => {
  const guild = newGuild();
  await fixture.beat('a', { place_id: 6 }, { guildId: guild });
  const send = ['commands', 'send', '--guild', guild, '--type', 'broadcast', '--place'];
  expect(await json(...send, '6')).toMatchObject({ servers: 1 });
  expect(await json(...send, '7')).toMatchObject({ command_ids: [expect.any(String)], servers: 0 });
  expect((await run(...send, '7')).out).toContain('None of these servers is live: the command was sent to no server.');
});

test('an --idempotency-key that was used does not send again, and is rejected for another command', async () => {
  const guild = newGuild();
  await fixture.beat('a', {}, { guildId: guild });
  const words = ['commands', 'send', '--guild', guild, '--place', '40001', '--type', 'broadcast'];
  const key = ['--idempotency-key', 'restart-2026-11-21'];
  const [first, second] = await Promise.all([json(...words, ...key), json(...words, ...key)]);
  expect(second).toEqual(first);
  expect(await json(...words, ...key)).toEqual(first);
  const other = await run(...words, '--payload', '{"text":"x"}', ...key);
  expect([other.status, other.error]).toEqual([1, expect.stringContaining('was used for another command')]);
  expect((await json(...words))['command_ids']).not.toEqual(first['command_ids']);
});

test('commands cancel cancels a command on the servers that have not received it', async () => {
  const guild = newGuild();
  for (const server of ['a', 'b', 'c']) await fixture.beat(server, {}, { guildId: guild });
  const { commandIds } = await fixture.enqueue({ guildId: guild });
  const id = commandIds[0] ?? '';
  await fixture.take('a', '', { guildId: guild });
  expect(await json('commands', 'cancel', id, '--guild', guild)).toEqual({ cancelled: 2 });
  expect((await run('commands', 'cancel', id, '--guild', guild)).out).toBe('There was nothing left to cancel.\n');
  expect(await fixture.take('b', '', { guildId: guild })).toEqual([]);
  expect(await json('commands', 'show', id, '--guild', guild)).toMatchObject({
    command: { state: 'cancelled', outcome: { servers: 3, delivered: 1, cancelled: 2, expired: 0 } },
    servers: [
      { server_id: 'a', state: 'leased' },
      { server_id: 'b', state: 'cancelled' },
      { server_id: 'c', state: 'cancelled' },
    ],
  });
  const unknown = await run('commands', 'cancel', '7f0c6a0e-0000-4000-8000-000000000000', '--guild', guild);
  expect([unknown.status, unknown.error]).toEqual([1, expect.stringContaining('No such command in this guild')]);
});

test('servers list prints all live servers, page by page, or those of one place', async () => {
  const guild = newGuild();
  await fixture.beat('a', { place_id: 5, fps: 59.94, age_seconds: 60, plugin_version: '2.4.0' }, { guildId: guild });
  await fixture.beat('b', { place_id: 6 }, { guildId: guild });
  await fixture.beat('gone', {}, { guildId: guild });
  await fixture.beat('gone', { final: true }, { guildId: guild });
  const now = Math.floor(fixture.clock.now() / 1000);
  const first = await json('servers', 'list', '--guild', guild, '--limit', '1');
  expect(first).toEqual({
    servers: [
      {
        server_id: 'a',
        place_id: 5,
        universe_id: null,
        player_count: 1,
        max_players: 30,
        fps: 59.94,
        plugin_version: '2.4.0',
        started_at: now - 60,
        heartbeat_at: now,
        live_until: now + 45,
      },
    ],
    next_cursor: 'a',
  });
  const rest = await json('servers', 'list', '--guild', guild, '--all');
  expect(rest).toMatchObject({ servers: [{ server_id: 'a' }, { server_id: 'b' }], next_cursor: null });
  expect((await run('servers', 'list', '--guild', guild, '--place', '6')).out).toMatch(/b +6 +1\/30/);
  expect((await run('servers', 'list', '--guild', newGuild())).out).toBe('No server is live.\n');
});

test.each([
  [
    ['commands', 'send'],
    ['--guild is required', '--type is required', 'give exactly one of --server, --place, --all'],
  ],
  [
    ['commands', 'send', '--guild', '1', '--server', 'a b', '--type', 'dance', '--payload', '[]'],
    ['--guild must be', '--server must be 1 to 64', '--type must be one of kick', '--payload must be a JSON object'],
  ],
  ...['kick', 'ban', 'unban', 'mute', 'unmute', 'message'].map((type): [string[], string[]] => [
    ['commands', 'send', '--guild', '900000000000000001', '--server', 'a', '--type', type],
    [`--target is required for --type ${type}`],
  ]),
  [['commands', 'cancel', '--guild', '900000000000000001'], ['COMMAND_ID is required']],
  [
    ['commands', 'send', '--place', 'x', '--ttl', '0', '--target', '-'],
    ['--place must', '--ttl must', '--target must'],
  ],
  [
    ['commands', 'list', '--guild', '900000000000000001', '--limit', '0'],
    ['--limit must be a whole number from 1 to 1000'],
  ],
])('%j fails, and prints every fault to standard error only', async (words, faults) => {
  const { status, out, error } = await run(...words);
  expect({ status, out }).toEqual({ status: 1, out: '' });
  for (const fault of faults) expect(error).toContain(fault);
});
