import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Environment } from '#kit/service/config.ts';
import { guildctl } from '#services/cli/guildctl.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';

let network: Network;
let key: { id: string; secret: string };

beforeAll(async () => {
  network = await startNetwork({ console: true });
  key = await network.createKey();
});
afterAll(() => network.stop());

const adminOf = (name: string) => `${name}=${network.address(name, 'admin')}`;
const admins = () => [...network.services.keys()].map(adminOf);

async function top(words: string[], isTerminal = false, environment: Environment = {}) {
  const said = { out: '', error: '' };
  const status = await guildctl(['top', '--interval', '1', ...words], {
    environment: { GUILDCTL_ADMIN: admins().join(','), ADMIN_SECRETS: network.secrets.admin, ...environment },
    user: 'ada',
    out: (text) => (said.out += text),
    error: (text) => (said.error += text),
    isTerminal,
  });
  return { status, ...said };
}

/** Sends valid, rejected and unknown requests until the promise is settled. */
async function traffic<Result>(during: Promise<Result>): Promise<Result> {
  const over = new AbortController();
  const end = () => over.abort();
  void during.then(end, end);
  while (!over.signal.aborted) {
    await network.call('/whoami', { key: key.secret });
    await network.call('/lookup/game/7', { key: key.secret, headers: { 'x-guild-id': GUILD } });
    await network.call('/bindings/list', { key: key.secret, headers: { 'x-guild-id': '900000000000000009' } });
    await network.call('/moderation/1/logs', { key: key.secret });
  }
  return during;
}

it('shows figures of each process, and the busiest and most often rejected keys', async () => {
  const { status, out, error } = await traffic(top(['--json']));
  expect({ status, error }).toEqual({ status: 0, error: '' });
  const { processes, keys, at } = JSON.parse(out);
  expect(at).toBeGreaterThan(1_700_000_000);
  expect(processes.map(({ name }: { name: string }) => name)).toEqual([...network.services.keys()]);
  const of = (name: string) => processes.find((process: { name: string }) => process.name === name).figures;
  expect(of('gateway')).toMatchObject({ limiter_degraded: false, key_stream_alive: true, breakers_open: [] });
  expect(of('gateway').requests_per_second).toBeGreaterThan(1);
  expect(of('gateway').p99_seconds).toBeGreaterThan(0);
  expect(of('gateway').key_cache_hit_ratio).toBeGreaterThan(0.5);
  expect(of('lookup')).toMatchObject({ errors_per_second: 0, pool: { max: 5 }, in_flight: null, faults: [] });
  expect(of('lookup').requests_per_second).toBeGreaterThan(0);
  expect(of('activity')).toMatchObject({ waiting_polls: 0, unacknowledged_commands: 0 });
  expect(of('members').unfinished_jobs).toBe(0);
  expect(keys.busiest[0].key_id).toBe(key.id);
  expect(keys.rejected).toEqual(keys.busiest);
  expect(keys.busiest[0].requests).toBeGreaterThan(keys.busiest[0].rejected);
  expect(JSON.stringify(keys)).not.toContain(key.secret);
});

it('on a terminal the view is redrawn, and without one it is printed once', async () => {
  const live = await traffic(top(['--times', '3'], true));
  expect(live.out.split('\u001b[H\u001b[2J')).toHaveLength(3);
  expect(live.out.match(/^PROCESS +REQ\/S/gm)).toHaveLength(3);
  const once = await top([]);
  expect(once.out).not.toContain('\u001b');
  expect(once.out.match(/^PROCESS +REQ\/S/gm)).toHaveLength(1);
  expect(Math.max(...once.out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
});

it('a process that does not respond is reported, and does not delay the others', async () => {
  const { status, out } = await top(['--once', '--admin', 'lookup=127.0.0.1:1', '--admin', adminOf('auth')]);
  expect(status).toBe(0);
  expect(out).toMatch(/^lookup .* DOWN: no response$/m);
  expect(out).toMatch(/^auth +[0-9.]+ /m);
});

it.each([
  [['--admin', 'http://somewhere'], '--admin and GUILDCTL_ADMIN take NAME=HOST:PORT'],
  [['--interval', '0'], '--interval must be a whole number from 1 to 60'],
  [['--once', '--times', '2'], '--once and --times exclude each other'],
])('%j is rejected', async (words, message) => {
  const { status, out, error } = await top(words);
  expect({ status, out }).toEqual({ status: 1, out: '' });
  expect(error).toContain(message);
});

it.each([
  ['no secret', { ADMIN_SECRETS: '', DATA_DIR: '/none' }],
  ['the secret of another system', { ADMIN_SECRETS: 'x'.repeat(32) }],
])('with %s the figures of processes are shown, but no keys', async (_what, environment) => {
  await network.call('/whoami', { key: key.secret });
  const { status, out } = await top(['--json'], false, environment);
  expect(status).toBe(0);
  const { processes, keys } = JSON.parse(out);
  expect(processes[0]).toMatchObject({ figures: expect.anything(), reason: null });
  expect(keys).toBeNull();
  expect((await top(['--once'], false, environment)).out).toContain('Keys are only shown to operators');
});
