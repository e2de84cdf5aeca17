import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { databaseConfig } from '#kit/service/config.ts';
import { DEPLOYABLES } from '#local/processes.ts';
import type { JsonObject } from './chart.ts';
import { render } from './helm.ts';
import { EVALUATION, OWN_SERVERS } from './manifests.ts';

const STORED = DEPLOYABLES.filter(({ holds }) => holds.includes('database'));
const NOTIFIED = STORED.filter(({ notified }) => notified);
const POOL = databaseConfig.PG_POOL_MAX.parse(undefined);
/** A pool and a probe. */
const EACH = POOL + 1;
/** Two replicas and one more during a rollout. */
const PODS = 3;
/** A migration that takes long uses two. */
const MIGRATION = 2;
/** The connections of the default values. */
const DEFAULT_CONNECTIONS = PODS * (STORED.length * EACH + NOTIFIED.length) + MIGRATION;

const withLimit = (maxConnections: number, values: JsonObject = {}, database: JsonObject = {}) =>
  render({ values: { ...OWN_SERVERS, ...values, database: { host: 'db', maxConnections, ...database } } });

test('the processes with a connection for LISTEN are those that the table names', () => {
  for (const { name, notified = false } of STORED) {
    const folder = join(import.meta.dirname, '../../services', name);
    const sources = globSync('**/*.ts', { cwd: folder }).filter((file) => !file.endsWith('.test.ts'));
    const listens = sources.some((file) =>
      /new Listener\(|\.changeFeed\(/.test(readFileSync(join(folder, file), 'utf8')),
    );
    expect([name, listens]).toEqual([name, notified]);
  }
});

test('the connections of all pods, of their probes, of LISTEN and of the migration must fit', async () => {
  await expect(withLimit(DEFAULT_CONNECTIONS)).resolves.not.toHaveLength(0);
  await expect(withLimit(DEFAULT_CONNECTIONS - 1)).rejects.toThrow(
    `may open ${DEFAULT_CONNECTIONS} connections, more than the ${DEFAULT_CONNECTIONS - 1}`,
  );
});

test('without a known maximum nothing is rejected', async () => {
  const autoscaling = { enabled: true, maxReplicas: 1000 };
  await expect(withLimit(0, { defaults: { autoscaling } })).resolves.not.toHaveLength(0);
});

test.each([
  ['replicas', { replicas: 5 }, 3],
  ['the replicas of an autoscaler', { autoscaling: { enabled: true, maxReplicas: 12 } }, 10],
  ['the replicas of KEDA', { autoscaling: { external: true, maxReplicas: 12 } }, 10],
  ['a larger surge', { replicas: 2, strategy: { rollingUpdate: { maxSurge: '100%' } } }, 1],
  ['a surge by default of Kubernetes', { replicas: 5, strategy: { type: 'RollingUpdate' } }, 4],
  ['pods that are not replaced one by one', { replicas: 5, strategy: { type: 'Recreate' } }, 2],
] as const)('%s of a service count', async (_, bindings, more) => {
  const exact = DEFAULT_CONNECTIONS + more * EACH;
  const values = { services: { bindings: structuredClone(bindings) as unknown as JsonObject } };
  await expect(withLimit(exact, values)).resolves.not.toHaveLength(0);
  await expect(withLimit(exact - 1, values)).rejects.toThrow(`may open ${exact} connections`);
});

test('PG_POOL_MAX counts, of the defaults and of one service', async () => {
  const values = { defaults: { config: { PG_POOL_MAX: 1 } }, services: { lookup: { config: { PG_POOL_MAX: 10 } } } };
  const exact = PODS * ((STORED.length - 1) * 2 + 11 + NOTIFIED.length) + MIGRATION;
  await expect(withLimit(exact, values)).resolves.not.toHaveLength(0);
  await expect(withLimit(exact - 1, values)).rejects.toThrow(`may open ${exact} connections`);
});

test('with a pooler its connections count, without LISTEN and the migration, which bypass it', async () => {
  const exact = PODS * STORED.length * EACH;
  await expect(withLimit(exact, {}, { direct: { host: 'server' } })).resolves.not.toHaveLength(0);
  await expect(withLimit(exact - 1, {}, { direct: { host: 'server' } })).rejects.toThrow(`may open ${exact}`);
});

test('evaluation mode knows the maximum of its own server', async () => {
  const [server] = (await render({ values: EVALUATION })).filter(
    ({ kind, metadata }) => kind === 'StatefulSet' && metadata.name.endsWith('postgresql'),
  );
  expect(server?.['spec'].template.spec.containers[0].command.at(-1)).toMatch(/-c max_connections=220$/m);
  const defaults = { autoscaling: { enabled: true, maxReplicas: 20 } };
  // Three are reserved for superusers.
  await expect(render({ values: { ...EVALUATION, defaults } })).rejects.toThrow(
    /more than the 217 of PostgreSQL in evaluation mode .* replicas or config\.PG_POOL_MAX\n/,
  );
  const database = { maxConnections: 500 };
  await expect(render({ values: { ...EVALUATION, database } })).rejects.toThrow('do not set database.maxConnections');
});
