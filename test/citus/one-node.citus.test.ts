// Each statement of a request reads and changes the shard of its guild only.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RESPONSES } from '#gateway/docs/reference/responses.ts';
import { recordExamples } from '../docs/examples.ts';
import { databaseRows } from '../postgres/database.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';

/** Citus's message about such a statement. */
const REJECTION = 'multi-task query about to be executed';

const logLines: string[] = [];
let network: Network;

beforeAll(async () => {
  network = await startNetwork({ logLines });
  await rejectStatementsForSeveralShards(network.databaseUrl);
});
afterAll(() => network.stop());

/** Makes the coordinator reject each statement that would read or change several shards, on all connections to a database. */
async function rejectStatementsForSeveralShards(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await databaseRows(url, `ALTER DATABASE ${name} SET citus.multi_task_query_log_level = 'error'`);
  await databaseRows(
    url,
    `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
     WHERE datname = $1 AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    [name],
  );
}

test('every operation of the API works while statements for several shards are rejected', async () => {
  // Work in the background looks for due rows of all guilds, so it is rejected.
  const { responses } = await recordExamples(network, { background: false });
  expect(Object.keys(responses).toSorted()).toEqual(Object.keys(RESPONSES).toSorted());
  expect(logLines.some((line) => line.includes(REJECTION))).toBe(true);
});

test('keys are created, listed, changed, rotated and revoked while statements for several shards are rejected', async () => {
  const admin = network.admin();
  const { id } = await network.createKey();
  const change = { keyId: id, actor: 'test' };
  await admin.updateKey({ ...change, name: 'renamed' });
  await admin.rotateKey({ ...change, graceSeconds: 60 });
  await admin.revokeKey(change);
  const { keys } = await admin.listKeys({ guildId: GUILD, limit: 10, cursor: '' });
  expect(keys.find((key) => key.id === id)).toMatchObject({ name: 'renamed', revokedAt: expect.any(Number) });
  const { entries } = await admin.listAudit({ guildId: GUILD, limit: 10, cursor: '', isInstallation: false });
  expect(entries.map(({ action }) => action)).toContain('revoke');
});
