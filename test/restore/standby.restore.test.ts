import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Deployment } from '../failure/deployment.ts';
import { printFigure } from '../measure/figures.ts';
import { startTcpProxy, type TcpProxy } from '../network/tcp-proxy.ts';
import { Community } from './community.ts';
import { connected } from './content.ts';
import { describeInstallations } from './installation.ts';
import { createDatabase, deploymentOn, migrate } from './installed-system.ts';
import { expectToContinue, missingWrites } from './restored-system.ts';
import { createFolder, createServerFolder, PASSWORD, removeFolder, Server } from './server.ts';

const WRITES_BEFORE_KILL = 200;
/** Writes that are acknowledged while nothing reaches the standby. */
const WRITES_WITHOUT_STANDBY = 50;
/** Writes that fail while nothing reaches a synchronous standby: those of all clients, several times. */
const FAILED_WRITES = 30;
const ARCHIVE_TIMEOUT_SECONDS = 5;
/** The time in which a finished segment is archived. */
const ARCHIVING_MS = 5_000;
const WAIT = { timeout: 120_000, interval: 20 };
/** The processes that serve links and bans. */
const NEEDED = ['auth', 'lookup', 'bindings', 'members', 'moderation', 'gateway'];
const STANDBY = 'standby';

describeInstallations((installation) => {
  let folder: string;
  let archive: string;
  let primary: Server;
  let standby: Server;
  let toStandby: TcpProxy;
  let deployment: Deployment;
  let community: Community;
  let stops: (() => Promise<unknown>)[];

  beforeEach(async () => {
    folder = createServerFolder();
    archive = createFolder(join(folder, 'archive'));
    stops = [async () => removeFolder(folder)];
    primary = await Server.create(installation, join(folder, 'primary'), {
      settings: {
        archive_mode: 'on',
        archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
        archive_timeout: String(ARCHIVE_TIMEOUT_SECONDS),
      },
    });
    stops.push(() => primary.stop());
    await createDatabase(primary);
    await migrate(primary);
    toStandby = await startTcpProxy(primary.port);
    stops.push(() => toStandby.close());
    await primary.copyTo(join(folder, 'base'));
    await primary.copyTo(join(folder, STANDBY));
    standby = await Server.start(installation, join(folder, STANDBY), {
      signal: 'standby.signal',
      settings: {
        primary_conninfo: `host=127.0.0.1 port=${toStandby.port} user=postgres password=${PASSWORD} application_name=${STANDBY}`,
      },
    });
    stops.push(() => standby.stop());
    deployment = await deploymentOn(primary, { only: NEEDED });
    stops.push(() => deployment.stop());
    await deployment.start();
    community = new Community(deployment.api, deployment.keys, { kinds: ['link', 'ban'], repeats: false });
    stops.push(() => community.stop());
  });

  afterEach(async () => {
    for (const stop of stops.toReversed()) await stop();
  });

  const acknowledged = (count: number) => vi.waitUntil(() => community.acknowledged.length >= count, WAIT);

  /** Kills the primary under load, once `last` has resolved after the connection to the standby stalled. */
  const killPrimary = async (last: () => Promise<unknown>) => {
    community.start();
    await acknowledged(WRITES_BEFORE_KILL);
    toStandby.hold();
    await last();
    await primary.kill();
    const killedAt = performance.now();
    await community.stop();
    return killedAt;
  };

  const promoteStandby = () =>
    connected(standby.url('postgres'), (client) => client.query('SELECT pg_promote(true, 60)'));

  const print = (name: string, lost: number) =>
    printFigure(
      `PostgreSQL ${installation.version}, primary killed under load, ${name}`,
      `${lost} of ${community.acknowledged.length} acknowledged writes lost`,
    );

  test('without a synchronous standby, acknowledged writes that it has not received are lost; an archive lacks an unfinished segment', async () => {
    const killedAt = await killPrimary(() => acknowledged(WRITES_BEFORE_KILL + WRITES_WITHOUT_STANDBY));
    await promoteStandby();
    const lost = await missingWrites(standby, community.acknowledged);
    expect(lost.length).toBeGreaterThan(0);
    print(`asynchronous standby that received nothing of the last ${WRITES_WITHOUT_STANDBY}`, lost.length);

    const target = await Server.start(installation, join(folder, 'base'), {
      signal: 'recovery.signal',
      settings: { restore_command: `cp ${archive}/%f %p` },
    });
    stops.push(() => target.stop());
    const unarchived = await missingWrites(target, community.acknowledged);
    expect(unarchived.length).toBeGreaterThan(0);
    const oldest = Math.min(...unarchived.map(({ at }) => at));
    expect(killedAt - oldest).toBeLessThan(ARCHIVE_TIMEOUT_SECONDS * 1_000 + ARCHIVING_MS);
    print(`base backup and WAL archive with archive_timeout ${ARCHIVE_TIMEOUT_SECONDS} s`, unarchived.length);
  });

  test('with a synchronous standby no acknowledged write is lost, and the system continues on it', async () => {
    await connected(primary.url('postgres'), async (client) => {
      await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`);
      await client.query('SELECT pg_reload_conf()');
      await vi.waitUntil(async () => {
        const { rows } = await client.query<{ state: string }>('SELECT sync_state AS state FROM pg_stat_replication');
        return rows[0]?.state === 'sync';
      }, WAIT);
    });
    // Commits wait for the standby. When the services give up waiting, the writes must fail.
    await killPrimary(async () => {
      const { failed } = community;
      await vi.waitUntil(() => community.failed >= failed + FAILED_WRITES, WAIT);
    });
    await promoteStandby();
    const lost = await missingWrites(standby, community.acknowledged);
    print('synchronous standby', lost.length);
    expect(lost).toEqual([]);
    await deployment.stop();
    await expectToContinue(standby, deployment);
  });
});
