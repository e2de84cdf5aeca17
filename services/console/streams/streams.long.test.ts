import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { inParallel } from '#kit/resilience/parallel.ts';
import { ConsoleAdminServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import { Deployment } from '#test/failure/deployment.ts';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import type { StreamReader } from '#test/network/event-stream.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { EventWriter } from '#test/system/event-writer.ts';
import { Browser, GUILD, sessionTokenIn } from '../fixture.ts';

const STREAMS_PER_PERSON = 5;
const STREAMS = amount(50, 500);
const MAX_MEGABYTES = 100;

let database: TestDatabase;
let deployment: Deployment;
const readers: StreamReader[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  deployment = new Deployment({
    databaseUrl: database.url,
    redisUrl: await testRedisUrl(),
    replicas: 1,
    guilds: [GUILD],
    only: ['auth', 'events', 'console'],
    environment: { TRUSTED_PROXIES: '127.0.0.1' },
  });
  await deployment.start();
}, 300_000);

afterAll(async () => {
  for (const reader of readers) reader.close();
  await deployment?.stop();
  await database?.drop();
}, 60_000);

/** The resident memory of the console in megabytes. */
function megabytes(): number {
  const [replica] = deployment.replicasOf('console');
  const status = readFileSync(`/proc/${replica?.child.pid}/status`, 'utf8');
  return Math.round((Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6);
}

/** Signs persons in, each from an address of its own, because an address has few sign-ins a minute. */
async function signIn(count: number): Promise<Browser[]> {
  const { client, close } = deployment.operator('auth', ConsoleAdminServiceService);
  const url = deployment.direct('console', 'public');
  const origin = deployment.consoleUrl;
  const browsers = await inParallel(Array.from({ length: count }), 5, async (_none) => {
    const { url: link } = await client.createLink({ guildId: GUILD, role: 'viewer', actor: 'test' });
    const headers = { 'x-forwarded-for': `198.51.100.${signedIn++ % 250}`, origin };
    const body = { token: link.split('#')[1] };
    return new Browser(
      url,
      sessionTokenIn(await new Browser(url).send('/console/sign-in/link', { method: 'POST', body, headers })),
    );
  });
  close();
  return browsers as Browser[];
}
let signedIn = 0;

test('500 open consoles cost under 100 MB, share one connection, and all get an event', {
  timeout: 600_000,
}, async () => {
  const browsers = await signIn(STREAMS / STREAMS_PER_PERSON + 1);
  // The first stream compiles code and fills caches.
  (await browsers.pop()?.events())?.close();
  const before = megabytes();
  await inParallel(
    browsers.flatMap((browser) => Array.from({ length: STREAMS_PER_PERSON }, () => browser)),
    4,
    async (browser) => {
      const reader = await browser.events();
      expect(reader.status).toBe(200);
      readers.push(reader);
    },
  );
  await new EventWriter(GUILD, {
    address: () => deployment.grpcAddress('events'),
    secret: deployment.internalSecret,
  }).append(10);
  const written = (reader: StreamReader) => reader.events.filter(({ event }) => event === 'ban.created').length;
  await vi.waitUntil(() => readers.every((reader) => written(reader) >= 10), { timeout: 120_000, interval: 200 });
  withinBound(`memory of ${STREAMS} open consoles`, megabytes() - before, MAX_MEGABYTES, 'MB');
  printFigure('memory of the console process', `${megabytes()} MB`);
});
