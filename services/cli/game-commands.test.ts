import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { ActivityFixture, ADMIN_SECRET, newGuild } from '#services/activity/fixture.ts';
import { guildctl } from './guildctl.ts';

const fixture = new ActivityFixture();
beforeAll(async () => {
  await fixture.start();
  // guildctl goes by the machine's clock.
  fixture.clock.advance(systemClock.now() - fixture.clock.now());
});
afterAll(() => fixture.stop());

async function run(...words: string[]) {
  const said = { out: '', error: '' };
  const status = await guildctl(words, {
    environment: { GUILDCTL_ACTIVITY: fixture.activity.addresses.grpc, ADMIN_SECRETS: ADMIN_SECRET },
    user: 'ada',
    out: (text) => (said.out += text),
    error: (text) => (said.error += text),
  });
  return { status, ...said };
}

async function json(...words: string[]) {
  const { status, out, error } = await run(...words, '--json');
  expect({ status, error }).toEqual({ status: 0, error: '' });
  return JSON.parse(out) as Record<string, unknown[]>;
}

test('commands send and list answer as documented', async () => {
  const guild = newGuild();
  const details = ['--target', '7001', '--payload', '{"reason":"spam"}', '--ttl', '600'];
  const sent = await json('commands', 'send', '--guild', guild, '--server', 'a', '--type', 'kick', ...details);
  expect(sent).toEqual({ command_ids: [expect.any(String)] });
  const now = Math.floor(fixture.clock.now() / 1000);
  expect(await json('commands', 'list', '--guild', guild)).toEqual({
    commands: [
      {
        command_id: sent['command_ids']?.[0],
        server_id: 'a',
        type: 'kick',
        target: { game_id: 7001, game_username: null },
        payload: { reason: 'spam' },
        issued_by: 'ada',
        created_at: now,
        expires_at: now + 600,
        attempt: 0,
        state: 'queued',
        acked_at: null,
        result: null,
        error: null,
      },
    ],
  });
  const [command] = await fixture.take('a', '', { guildId: guild });
  await fixture.ack(
    'a',
    command?.command_id ?? '',
    { status: 'failed', error: 'gone', result: [1] },
    { guildId: guild },
  );
  const listed = (await json('commands', 'list', '--guild', guild, '--limit', '1'))['commands'];
  expect(listed).toMatchObject([{ state: 'failed', attempt: 1, result: [1], error: 'gone', acked_at: now }]);
  expect((await run('commands', 'list', '--guild', guild)).out).toMatch(/kick +7001 +failed +1 +ada +gone/);
});

test('commands send --all and --place tell each live server, and say so where none is', async () => {
  const guild = newGuild();
  await fixture.beat('a', { place_id: 5 }, { guildId: guild });
  await fixture.beat('b', { place_id: 6 }, { guildId: guild });
  const send = (...to: string[]) => json('commands', 'send', '--guild', guild, '--type', 'message', ...to);
  expect((await send('--all'))['command_ids']).toHaveLength(2);
  expect((await send('--place', '6'))['command_ids']).toHaveLength(1);
  expect(await send('--place', '7')).toEqual({ command_ids: [] });
  const none = await run('commands', 'send', '--guild', newGuild(), '--type', 'message', '--all');
  expect(none).toEqual({ status: 0, out: 'No server is live there: nothing was sent.\n', error: '' });
});

test('commands send says where too many commands wait already', async () => {
  const guild = newGuild();
  await Promise.all(['a', 'b'].map((server) => fixture.beat(server, {}, { guildId: guild })));
  await fixture.fillQueue(guild, 'b');
  const send = ['commands', 'send', '--guild', guild, '--type', 'message'];
  expect(await json(...send, '--all')).toEqual({ command_ids: [expect.any(String)], full_servers: 1 });
  expect((await run(...send, '--all')).out).toContain('too many commands wait for them: 1 servers');
  const refused = await run(...send, '--server', 'b');
  expect([refused.status, refused.out]).toEqual([1, '']);
  expect(refused.error).toContain('The server has 1000 commands waiting');
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
  [
    ['commands', 'send', '--place', 'x', '--ttl', '0', '--target', '-'],
    ['--place must', '--ttl must', '--target must'],
  ],
  [
    ['commands', 'list', '--guild', '900000000000000001', '--limit', '0'],
    ['--limit must be a whole number from 1 to 1000'],
  ],
])('%j fails on standard error alone, with every fault', async (words, faults) => {
  const { status, out, error } = await run(...words);
  expect({ status, out }).toEqual({ status: 1, out: '' });
  for (const fault of faults) expect(error).toContain(fault);
});
