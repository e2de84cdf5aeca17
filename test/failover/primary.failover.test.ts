import { test } from 'vitest';
import { describeInstallations } from '../restore/installation.ts';
import { createDatabase, migrate } from '../restore/installed-system.ts';
import type { Cluster } from './cluster.ts';
import type { ClusterNode } from './node.ts';
import { missingForPatroni, PatroniCluster } from './patroni.ts';
import { PlainServers } from './plain-servers.ts';
import { type Fault, Proof } from './proof.ts';

const KILLS: readonly Fault[] = Array.from({ length: 5 }, () => 'kill');
const FAULTS: readonly Fault[] = [...KILLS, 'partition from everybody', ...KILLS, 'partition from the other servers'];

async function prepare(node: ClusterNode): Promise<void> {
  await createDatabase(node);
  await migrate(node);
}

async function expectToSurvive(name: string, starting: Promise<Cluster>): Promise<void> {
  const cluster = await starting;
  try {
    await Proof.run(name, cluster, FAULTS);
  } finally {
    await cluster.stop();
  }
}

const missing = missingForPatroni();
if (missing !== undefined) console.log(`NOT CHECKED: PostgreSQL behind Patroni, because ${missing}`);

// No acknowledged write is lost or applied twice, and no process is restarted, when the primary fails again and again.
describeInstallations((installation) => {
  test.skipIf(missing !== undefined)(
    'behind Patroni, nothing that was acknowledged is lost when the primary fails',
    () =>
      expectToSurvive(`PostgreSQL ${installation.version} behind Patroni`, PatroniCluster.start(installation, prepare)),
  );

  test('with plain servers, nothing that was acknowledged is lost when the primary fails', () =>
    expectToSurvive(`PostgreSQL ${installation.version}, plain servers`, PlainServers.start(installation, prepare)));
});
