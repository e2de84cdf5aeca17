import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SecretRing } from '#kit/security/keyring.ts';
import { PRINCIPAL_HEADER, signPrincipal } from '#kit/security/principal.ts';
import type { RunningService } from '#kit/service/service.ts';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { TEST_SECRETS } from '#test/system/signed-calls.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const POLLS = amount(500, 5_000);
const CONCURRENCY = 250;
const GUILDS = Array.from({ length: 10 }, newGuild);
const guildOf = (n: number) => GUILDS[n % GUILDS.length] ?? '';
const nameOf = (n: number) => `s${n}`;

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const ring = new SecretRing(TEST_SECRETS);

/** Polls on a separate connection, and returns the text of the body. */
async function poll(at: RunningService, guildId: string, server: string, wait: number): Promise<string> {
  const target = `/api/v1/game/servers/${server}/commands?wait=${wait}`;
  const principal = {
    keyId: `${guildId}-1`,
    keyPrefix: 'test',
    guildId,
    scopes: null,
    legacy: true,
    requestId: 'test',
  };
  const signedRequest = { audience: 'activity', method: 'GET', target };
  const headers = { [PRINCIPAL_HEADER]: signPrincipal(ring, principal, signedRequest, Date.now()) };
  const [response] = (await once(
    request(`http://${at.addresses.http}${target}`, { agent: false, headers }).end(),
    'response',
  )) as [IncomingMessage];
  return (await response.toArray()).join('');
}

const memory = async (at: RunningService) => (await fixture.metric('process_resident_memory_bytes', '', at)) ?? 0;
const openPolls = (at: RunningService) => fixture.metric('activity_open_polls', '', at);

test(`${POLLS} waiting polls of a process share connections, need little memory, and are woken in time`, async () => {
  await fixture.advance(Date.now() - fixture.clock.now());
  const { kill, at } = await fixture.startProcess(fixture.testDatabase.url);
  await fixture.activity.stop();
  // Warms up, so that the measurement excludes memory that every process needs after a while.
  for (let round = 0; round < POLLS / CONCURRENCY; round++) {
    await Promise.all(Array.from({ length: CONCURRENCY }, (_, n) => poll(at, newGuild(), `warm-${n}`, 0)));
  }
  const before = await memory(at);
  const polls: Promise<string>[] = [];
  while (polls.length < POLLS) {
    for (let count = 0; count < CONCURRENCY; count++)
      polls.push(poll(at, guildOf(polls.length), nameOf(polls.length), 25));
    await expect.poll(() => openPolls(at)).toBe(polls.length);
  }
  const added = ((await memory(at)) - before) / 1024 ** 2;
  withinBound(`memory that ${POLLS} waiting polls add`, added, 100, 'MB');

  const [connections] = await fixture.database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'activity%'`,
  );
  printFigure(`database connections of a process with ${POLLS} waiting polls`, connections?.count ?? 0);
  // The pool, and the connection that listens.
  expect(connections?.count).toBeLessThanOrEqual(6);

  const delays: number[] = [];
  // The latest polls have the most time left.
  for (let n = POLLS - 20; n < POLLS; n++) {
    await fixture.advance(Date.now() - fixture.clock.now());
    await fixture.send(nameOf(n), { guildId: guildOf(n), ttlSeconds: 600 }, at);
    const sentAt = performance.now();
    expect(await polls[n]).toContain('"command_id"');
    delays.push(performance.now() - sentAt);
  }
  withinBound(`one of ${POLLS} waiting polls is woken, slowest of ${delays.length}`, Math.max(...delays), 200);

  const ended = kill('SIGTERM');
  const drainedAt = performance.now();
  for (const body of await Promise.all(polls)) expect(body).toContain('"status":"success"');
  withinBound(`${POLLS} waiting polls are ended by a drain`, performance.now() - drainedAt, 10_000);
  await ended;
}, 120_000);
