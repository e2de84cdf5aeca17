import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '#local/ports.ts';
import { type RunningPostgres, startPostgres, VOLATILE } from '#local/postgres.ts';
import { Authority } from '#test/network/certificates.ts';
import { openTestPool } from '#test/postgres/database.ts';
import { type RedisNode, startRedisNode } from '#test/redis/nodes.ts';
import { Listener } from '../postgres/notifications/listener.ts';
import { createLog, type Logger } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { connectRedis } from './client.ts';

const ours = new Authority('ours');
const folder = mkdtempSync(join(tmpdir(), 'storage-tls-'));
const write = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
};
const { cert, key } = ours.issue();
const server = { cert: write('server.pem', cert), key: write('server.key', key) };
const ca = write('ca.pem', ours.cert);
const otherCa = write('other.pem', new Authority('theirs').cert);
const log: Promise<Logger> = createLog({ service: 'test', level: 'silent' });

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('PostgreSQL', () => {
  let postgres: RunningPostgres;

  beforeAll(async () => {
    // Only TLS connections are accepted.
    const settings = { ...VOLATILE, ssl: 'on', ssl_cert_file: server.cert, ssl_key_file: server.key };
    postgres = await startPostgres({ folder: join(folder, 'postgres'), settings });
  });
  afterAll(() => postgres.stop());

  const url = (options: string, host = '127.0.0.1') => `${postgres.url.replace('127.0.0.1', host)}?${options}`;
  const isEncrypted = 'SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()';

  test('pools and listeners connect with verify-full and a private CA', async () => {
    const full = url(`sslmode=verify-full&sslrootcert=${ca}`);
    const database = await openTestPool(full);
    expect(await database.query(isEncrypted)).toEqual([{ ssl: true, version: 'TLSv1.3' }]);
    const received: string[] = [];
    const listener = new Listener({
      url: full,
      name: 'test',
      channel: 'tls',
      log: await log,
      metrics: new Metrics(),
      onNotification: (payload) => void received.push(payload),
      onListening: async () => undefined,
      onVerified: () => undefined,
    });
    await listener.start();
    await expect.poll(() => listener.isReceiving).toBe(true);
    await database.query(`NOTIFY tls, 'over TLS'`);
    await expect.poll(() => received).toEqual(['over TLS']);
    await listener.stop();
    await database.close();
  });

  test.each([
    ['of another CA', () => url(`sslmode=verify-full&sslrootcert=${otherCa}`)],
    ['of a CA that Node does not know', () => url('sslmode=verify-full')],
  ])('a server with a certificate %s is not used', async (_what, address) => {
    const database = await openTestPool(address());
    await expect(database.query(isEncrypted)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await database.close();
  });

  test('a server whose certificate has another name is rejected', async () => {
    const named = ours.issue({ names: ['database.example'] });
    const settings = {
      ...VOLATILE,
      ssl: 'on',
      ssl_cert_file: write('named.pem', named.cert),
      ssl_key_file: write('named.key', named.key),
    };
    const other = await startPostgres({ folder: join(folder, 'other'), settings });
    const database = await openTestPool(`${other.url}?sslmode=verify-full&sslrootcert=${ca}`);
    await expect(database.query(isEncrypted)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await database.close();
    await other.stop();
  });
});

describe('Redis', () => {
  let redis: RedisNode;
  let port: number;

  beforeAll(async () => {
    [port = 0] = await freePorts(1);
    mkdirSync(join(folder, 'redis'));
    const lines = [`tls-port ${port}`, `tls-cert-file ${server.cert}`, `tls-key-file ${server.key}`];
    const more = [`tls-ca-cert-file ${ca}`, 'tls-auth-clients no'];
    redis = await startRedisNode(join(folder, 'redis'), [...lines, ...more]);
  });
  afterAll(() => redis.stop());

  async function connect(caFile: string | undefined) {
    const connection = connectRedis(`rediss://127.0.0.1:${port}`, { name: 'test', log: await log, caFile });
    await connection.start();
    return connection;
  }

  test('Redis connects with rediss and a private CA', async () => {
    const connection = await connect(ca);
    await expect.poll(() => connection.client.status).toBe('ready');
    expect(await connection.client.ping()).toBe('PONG');
    await connection.stop();
  });

  test.each([
    ['another CA', () => otherCa],
    ['the CAs that Node knows', () => undefined],
  ])('a server is not used that is checked by %s', async (_what, caFile) => {
    const connection = await connect(caFile());
    await expect.poll(() => connection.client.status).toBe('reconnecting');
    await expect(connection.client.ping()).rejects.toThrow(/writeable|closed/);
    await connection.stop();
  });

  test('a missing CA file prevents a process from starting', async () => {
    await expect(connect(join(folder, 'nowhere.pem'))).rejects.toThrow('ENOENT');
  });
});
