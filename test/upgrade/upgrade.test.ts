import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { Deployment, type Release } from '../failure/deployment.ts';
import { IDLE_MS, type Load, startLoad } from '../failure/load.ts';
import { mixedRequests, REQUEST_KINDS } from '../failure/mixed-requests.ts';
import { printFigure } from '../measure/figures.ts';
import { PATIENCE } from '../patience.ts';
import { databaseRows } from '../postgres/database.ts';
import { testRedisUrl } from '../redis/database.ts';
import { type Checkout, checkOut } from './checkout.ts';
import { PREVIOUS_RELEASE } from './previous-release.ts';
import { migrateWith, type ReleaseFiles, readRelease, startProgramOf, THIS_RELEASE, withOurKeys } from './releases.ts';
import { ServiceRoles } from './roles.ts';

/** Enough guilds that none reaches its own limit. */
const GUILDS = Array.from({ length: 20 }, (_, index) => `90000000000000${index + 1000}`);
/** Requests per second. */
const RATE = 40;
/** Requests of each kind that have to succeed with each combination of the releases. */
const ROUNDS = 5;
const GATEWAY = 'gateway';

let checkout: Checkout;
let previous: ReleaseFiles;
const roles = new ServiceRoles();
let databaseUrl: string;
let deployment: Deployment;
let load: Load;

/** What the processes of the previous release have is what an upgrade replaces. */
const services = () => previous.deployables.map(({ name }) => name).filter((name) => name !== GATEWAY);

beforeAll(async () => {
  checkout = checkOut(PREVIOUS_RELEASE);
  previous = await readRelease(checkout.root);
  databaseUrl = await createEmptyDatabase();
  await migrateWith(previous, migration());
  // A high call budget for the chat platform, because a fifth of the requests needs it.
  const environment = { DRAIN_DELAY_SECONDS: String((2 * IDLE_MS) / 1_000), CHAT_GLOBAL_RPS: '1000' };
  deployment = new Deployment({
    databaseUrl: (name) => roles.urlOf(name, databaseUrl),
    redisUrl: await testRedisUrl(),
    replicas: 1,
    guilds: GUILDS,
    environment,
    release: previous,
  });
  await deployment.start();
}, 300_000);

afterAll(async () => {
  await load?.stop();
  await deployment?.stop();
  await databaseRows(inject('postgresUrl'), `DROP DATABASE IF EXISTS ${nameOf(databaseUrl)} WITH (FORCE)`);
  await roles.drop();
  checkout?.remove();
}, 60_000);

/** The variables of the migration Job. */
const migration = () => ({ DATABASE_URL: databaseUrl, ...roles.environment });

async function createEmptyDatabase(): Promise<string> {
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/test_${randomBytes(8).toString('hex')}`;
  await databaseRows(inject('postgresUrl'), `CREATE DATABASE ${nameOf(url.href)}`);
  return url.href;
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);

/** Waits until some more requests of each kind have succeeded; fails if any request got an unexpected response. */
async function expectNoFailure(when: string): Promise<void> {
  const before = new Map(load.good);
  const rounds = () => [...load.good].map(([name, count]) => count - (before.get(name) ?? 0));
  await vi.waitUntil(
    () => load.failed.length > 0 || (load.good.size === REQUEST_KINDS && rounds().every((count) => count >= ROUNDS)),
    { timeout: 120_000 },
  );
  expect(load.failed, `${when}:\n${deployment.errors()}`).toEqual([]);
}

/** Replaces a process by one of a release: starts the new one, then stops the old one. Meanwhile both serve requests. */
async function replace(name: string, release: Release): Promise<void> {
  const old = deployment.replicasOf(name);
  await deployment.startReplica(name, release);
  await expectNoFailure(`with ${name} of both releases`);
  for (const replica of old) {
    const { exit } = await deployment.terminate(replica);
    expect([name, exit]).toEqual([name, { code: 0, signal: null }]);
  }
}

/** One after another, in the same order for an upgrade and a rollback, so that each pair of old and new services meets. */
async function replaceServices(release: Release, when: string): Promise<void> {
  for (const name of services()) await replace(name, release);
  await expectNoFailure(when);
}

async function replaceGateway(release: Release, when: string): Promise<void> {
  await replace(GATEWAY, release);
  await expectNoFailure(when);
}

test('an upgrade from the previous release, and a rollback, lose no request, whichever processes are replaced first', {
  timeout: 900_000,
}, async () => {
  const requests = mixedRequests(deployment.keys);
  load = startLoad(deployment.api, RATE, () => requests.next().value);
  await expectNoFailure('before the upgrade');

  // The init container of a new pod waits for the schema, while the old processes serve.
  const initContainer = startProgramOf(THIS_RELEASE, ['deploy/wait-for-schema.ts', 'auth'], {
    DATABASE_URL: roles.urlOf('auth', databaseUrl),
  });
  await vi.waitFor(() => expect(initContainer.output()).toContain('waiting for the database schema'), PATIENCE);
  expect(await migrateWith(THIS_RELEASE, migration())).toContain('applied ');
  expect(await initContainer.ended).toBe(0);
  await expectNoFailure('with the previous release on the new schema');

  await replaceGateway(THIS_RELEASE, 'with the new gateway and the previous services');
  await replaceGateway(previous, 'with the previous release again');
  await replaceServices(THIS_RELEASE, 'with the previous gateway and the new services');
  await replaceGateway(THIS_RELEASE, 'with this release');

  // A rollback runs the Job of the previous release too, which undoes nothing. The keys of the newer release stay.
  expect(await migrateWith(previous, migration())).toContain('nothing to migrate');
  const rolledBack = withOurKeys(previous);
  await replaceServices(rolledBack, 'after a rollback of the services');
  await replaceGateway(rolledBack, 'after a rollback of all processes');

  const rate = load.rate();
  await load.stop();
  expect(load.failed).toEqual([]);
  await expectStored();
  const sent = [...load.good.values()].reduce((sum, count) => sum + count, 0);
  printFigure('requests lost by an upgrade and a rollback', `0 of ${sent}, at ${Math.round(rate)} a second`);
});

/** Every write that was acknowledged is stored, and the services have passed on all their events and decisions. */
async function expectStored(): Promise<void> {
  const count = async (text: string) => (await databaseRows<{ count: number }>(databaseUrl, text))[0]?.count;
  expect(await count("SELECT count(*)::int FROM moderation.log WHERE action = 'ban'")).toBe(load.good.get('ban'));
  expect(await count('SELECT count(*)::int FROM lookup.links')).toBe(load.good.get('link'));
  const queues = await databaseRows<{ name: string }>(
    databaseUrl,
    `SELECT table_schema || '.' || table_name AS name FROM information_schema.columns
     WHERE column_name = 'finished_at' AND table_name = 'events'`,
  );
  expect(queues.length).toBeGreaterThanOrEqual(6);
  const left = async () => {
    const counts = queues.map(({ name }) => count(`SELECT count(*)::int FROM ${name} WHERE finished_at IS NULL`));
    return (await Promise.all(counts)).reduce<number>((sum, one) => sum + (one ?? 0), 0);
  };
  await vi.waitFor(async () => expect(await left()).toBe(0), PATIENCE);
}
