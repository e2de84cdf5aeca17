import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { pathOf } from '#kit/files.ts';
import { DEPLOYABLES } from '#local/processes.ts';
import { printFigure } from '../measure/figures.ts';
import { sendRaw } from '../network/raw-http.ts';
import { databaseRows } from '../postgres/database.ts';
import { bundledProgram } from '../system/app.ts';
import { dumpDatabase, dumpRedis } from '../system/canaries.ts';
import { CanarySystem, WAIT } from '../system/canary-system.ts';

const GUILD = '900000000000000001';

const system = new CanarySystem();
const { canaries, secrets } = system;
beforeAll(() => system.start(), 180_000);
afterAll(() => system.stop(), 60_000);

const call = system.call.bind(system);
const guildctl = system.guildctl.bind(system);

const json = (key: string, body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

/** The 38 characters after the guild's ID. */
const randomPart = (key: string) => key.slice(key.lastIndexOf('_') + 1);

const read = (key: string, headers: Record<string, string> = {}): RequestInit => ({
  headers: { 'x-api-key': key, 'x-guild-id': GUILD, ...headers },
});

/** All requests of this test: good and bad, with the key and the tokens in every wrong place. */
async function traffic(key: string, name: string): Promise<void> {
  const member = { guild_id: GUILD, chat_id: '920000000000000009' };
  const made = await call('/verification/tokens', json(key, member, { 'idempotency-key': `${name}-1` }), false);
  const { token = '', code = '' } = made.status === 201 ? JSON.parse(made.text).data : {};
  if (made.status === 201) {
    canaries.add(`token ${name}`, token);
    canaries.add(`code ${name}`, code);
    // The repeat gets the stored response.
    await call('/verification/tokens', json(key, member, { 'idempotency-key': `${name}-1` }), false);
  } else {
    canaries.place('answers', made.text);
  }
  await Promise.all([
    call(`/verification/tokens/${token}`, read(key)),
    call(`/verification/tokens/${token}${token}`, read(key)),
    call(`/verification/tokens/${token}%zz`, read(key)),
    call('/verification/redeem', json(key, { guild_id: GUILD, code: `${code}x`, game_id: 7009, game_username: 'N' })),
    call('/verification/redeem', json(key, `{"guild_id":"${GUILD}","token":"${token}" "code":`)),
    call('/verification/redeem', json(key, { guild_id: token, token: [token], code: { code }, game_id: code })),
    call(`/whoami?leak=${key}`, read(key)),
    call(`/nothing/${key}/${token}`, read(key)),
    call(`/lookup/chat/${key}`, read(key)),
    call('/reverse', json(key, `{"guild_id":"${key}"`)),
    call('/reverse', json(key, { guild_id: key, chat_id: key, [key]: token })),
    call('/reverse', json(key, { guild_id: GUILD, chat_id: member.chat_id }, { 'idempotency-key': key })),
    call('/verification/unlink', json(key, { ...member }, { 'idempotency-key': key })),
    call('/whoami', { headers: { 'x-api-key': `${key}x` } }),
    call('/whoami', { headers: { authorization: `Basic ${btoa(`x:${key}`)}` } }),
    call('/whoami', { headers: { authorization: `Bearer ${key} ${key}`, cookie: `key=${key}` } }),
    call('/bindings/list', read(key)),
    // Returned unchanged and never logged, alone or within another text.
    ...[randomPart(key), `trace-${randomPart(key)}.1`].flatMap((id) => [
      call('/lookup/game/7001', read(key, { 'x-request-id': id }), false),
      call('/lookup/game/none', read(key, { 'x-request-id': id }), false),
      call('/whoami', { headers: { 'x-request-id': id } }, false),
    ]),
    call(`/guilds/${GUILD}/members?limit=5`, read(key)),
    call('/sync/roles', json(key, member)),
  ]);
  const address = new URL(system.up.gateway).host;
  for (const raw of [`GET /api/v1/${key} HTTP/1.1\nHost: x\n${key}\n\n`, `GET ${key}\n\n`, `${key}\n\n`]) {
    canaries.place('answers', await sendRaw(address, raw));
  }
  await call('/verification/redeem', json(key, { guild_id: GUILD, code, game_id: 7009, game_username: 'N' }));
}

const fault = (url: string, body: object) => fetch(`${url}/__faults`, { method: 'POST', body: JSON.stringify(body) });

async function platformFaults(key: string): Promise<void> {
  const { chat, game } = system.up.simulators;
  const faults = [
    { status: 503 },
    { status: 401 },
    { reset: true },
    { broken: true },
    { truncate: true },
    { status: 429 },
  ];
  for (const [index, kind] of faults.entries()) {
    await Promise.all([
      fault(chat, { match: '/api', times: 4, ...kind }),
      fault(game, { match: '/v', times: 4, ...kind }),
    ]);
    await call(`/guilds/${GUILD}/members/92000000000000000${index}`, read(key));
    await call(
      '/verification/link',
      json(key, { guild_id: GUILD, chat_id: '920000000000000010', game_id: 7010 + index }),
    );
    await call(`/guilds/${GUILD}/roles`, read(key));
    await Promise.all([chat, game].map((url) => fetch(`${url}/__faults`, { method: 'DELETE' })));
  }
}

/** The database is down, and then rejects the password, as after an unannounced change. */
async function databaseFaults(key: string): Promise<void> {
  const { password } = new URL(system.postgres.url);
  system.databaseProxy.freezeAll();
  system.databaseProxy.cut();
  await traffic(key, 'without database');
  await guildctl(['keys', 'list', '--guild', GUILD]);
  await databaseRows(system.postgres.url, `ALTER ROLE guild PASSWORD 'another'`);
  system.databaseProxy.thaw();
  system.databaseProxy.cut();
  await traffic(key, 'rejected by the database');
  await guildctl(['keys', 'create', '--guild', GUILD, '--legacy']);
  await expect.poll(() => system.logs().includes('password authentication failed'), WAIT).toBe(true);
  const other = new URL(system.postgres.url);
  other.password = 'another';
  await databaseRows(other.href, `ALTER ROLE guild PASSWORD '${password}'`);
  system.databaseProxy.cut();
  await expect.poll(async () => (await call('/bindings/list', read(key))).status, WAIT).toBe(200);
}

async function redisFaults(key: string): Promise<void> {
  const admin = new Redis(system.redisUrl);
  await admin.config('SET', 'requirepass', 'another');
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
  await traffic(key, 'rejected by Redis');
  await expect.poll(() => system.logs().includes('WRONGPASS'), WAIT).toBe(true);
  await admin.config('SET', 'requirepass', secrets.redis);
  admin.disconnect();
  await system.redis.stop();
  await traffic(key, 'without Redis');
  await system.redis.start();
}

/** Makes each process fail with an error that contains its whole environment. */
async function panics(): Promise<void> {
  const before = system.up.services;
  for (const { pid } of Object.values(before)) process.kill(pid, 'SIGUSR2');
  const isAnother = ([name, { pid }]: [string, { pid: number }]) => before[name]?.pid !== pid;
  await vi.waitFor(async () => {
    const services = system.up.services;
    expect(Object.entries(services).every(isAnother)).toBe(true);
    for (const { admin } of Object.values(services)) expect((await fetch(`${admin}/readyz`)).status).toBe(200);
  }, WAIT);
  expect(system.logs().match(/a part of this process broke/g)?.length).toBeGreaterThanOrEqual(DEPLOYABLES.length);
}

/** Configuration faults: each process gets its secrets in invalid forms. */
async function badStarts(): Promise<void> {
  const own = system.environment();
  const wrong = {
    ...own,
    INTERNAL_SECRETS: `${own['INTERNAL_SECRETS']},${secrets.admin}`,
    ADMIN_SECRETS: secrets.admin.slice(0, 20),
    DATABASE_URL: own['DATABASE_URL']?.replace('postgres:', 'mysql:'),
    REDIS_URL: own['REDIS_URL']?.replace('redis:', 'http:'),
    CHAT_BOT_TOKEN: `${secrets.bot} ${secrets.bot}`,
    GAME_API_KEY: `${secrets.game}\n${secrets.game}`,
    // Valid tokens, but of another method, service or request.
    AUTH_GRPC_ADDRESS: secrets.internal,
    ADMIN_PORT: secrets.admin,
  };
  for (const { name } of DEPLOYABLES)
    expect(await system.run(await bundledProgram(name), wrong)).toContain('ADMIN_PORT must be a whole number');
  const database = own['DATABASE_URL'] ?? '';
  for (const url of [database.replace(/@.*/, '@127.0.0.1:1/guild'), database.replace('@127', '@@127')]) {
    await system.run(await bundledProgram('migrate'), { DATABASE_URL: url });
  }
  await system.run(pathOf('deploy/local/start.ts'), { ...wrong, DATA_DIR: join(system.folder, 'other') });
}

async function badCommands(key: string, id: string): Promise<void> {
  await guildctl(['keys', 'list', '--guild', GUILD], { admin: `${secrets.admin}x` });
  await guildctl(['keys', 'list', '--guild', GUILD], { admin: secrets.internal });
  await guildctl(['keys', 'revoke', key]);
  await guildctl(['keys', 'list', '--guild', key]);
  await guildctl(['keys', 'list', '--guild', GUILD, key]);
  await guildctl([key]);
  await guildctl(['keys', 'update', id, `--${key}`]);
  for (const words of [
    ['keys', 'list'],
    ['audit', 'list'],
    ['commands', 'list'],
    ['staff', 'list'],
  ]) {
    await guildctl([...words, '--guild', GUILD]);
    await guildctl([...words, '--guild', GUILD, '--json']);
  }
}

test('no secret is in any log, metric, response, row, command line or output while components fail', async () => {
  const { id, key } = await system.newKey(
    'key',
    'keys',
    'create',
    '--guild',
    GUILD,
    '--all-scopes',
    '--name',
    'canary',
  );
  const { key: rotated } = await system.newKey('rotated key', 'keys', 'rotate', id, '--grace', '3600');
  await traffic(key, 'old');
  await traffic(rotated, 'new');
  canaries.place('command lines', system.commandLines());
  await badCommands(rotated, id);
  await badStarts();
  await platformFaults(rotated);
  await redisFaults(rotated);
  await databaseFaults(rotated);
  canaries.place('metrics', await system.metrics());
  await panics();
  await traffic(rotated, 'after all');
  await guildctl(['keys', 'revoke', id]);
  canaries.place('metrics', await system.metrics());
  canaries.place('command lines', system.commandLines());
  canaries.place('database', await dumpDatabase(system.postgres.url));
  canaries.place('Redis', await dumpRedis(system.redisUrl));
  canaries.place('logs', system.logs());
  canaries.place('what programs print', system.printed());
  const { bytes } = canaries;
  const shown = Object.entries(bytes).map(([name, size]) => `${name} ${size}`);
  printFigure(`bytes searched for ${canaries.count} secrets`, shown.join(', '));
  expect(bytes['logs']).toBeGreaterThan(50_000);
  expect(canaries.findings()).toEqual([]);
}, 240_000);
