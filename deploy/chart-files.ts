// `npm run chart:files`: writes the chart's table of processes from the table that `npm start` uses, and the schema of its
// values from the environment variables of the processes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIN_SECONDS_AFTER_DRAIN_DELAY } from '#kit/http/server.ts';
import { KEY_HOLDERS, purposesOf } from '#kit/security/purposes.ts';
import { databaseConfig } from '#kit/service/config.ts';
import { DEPLOYABLES, type Deployable } from '#local/processes.ts';
import { programFile } from './bundle/programs.ts';
import { valuesSchema } from './chart/schema/index.ts';
import { variablesOf } from './chart/schema/variables.ts';

export const CHART = join(import.meta.dirname, '..', 'charts', 'guild-data');

/** Ports of the containers. */
export const PORTS = { public: 8080, http: 8081, grpc: 9091, admin: 9090 } as const;

/** The chart's `files/services.json`. The image has a bundle of each process. */
export function chartServices(deployables: readonly Deployable[]): string {
  const calls = new Map(deployables.map((one) => [one.name, one.calls]));
  const services = Object.fromEntries(
    deployables.map(({ name, ...facts }) => [
      name,
      {
        ...facts,
        main: programFile(name),
        // Pods wait in an init container, which only services with a schema have.
        ...(facts.holds.includes('database') && { startsAfter: calledBy(name, calls).size }),
      },
    ]),
  );
  const keys = Object.fromEntries(KEY_HOLDERS.map((name) => [name, purposesOf(name)]));
  const components = [...deployables.map(({ name }) => name), 'migrate', 'guildctl'];
  const variables = Object.fromEntries(components.map((name) => [name, variablesOf(name)]));
  const poolMax = databaseConfig.PG_POOL_MAX.parse(undefined);
  const minSecondsAfterDrainDelay = MIN_SECONDS_AFTER_DRAIN_DELAY;
  const facts = { ports: PORTS, poolMax, minSecondsAfterDrainDelay, services, keys, variables };
  return `${JSON.stringify(facts, null, 2)}\n`;
}

/** The services that a service calls, and those that they call. */
function calledBy(name: string, calls: ReadonlyMap<string, readonly string[]>): Set<string> {
  const direct = calls.get(name) ?? [];
  return new Set(direct.flatMap((called) => [called, ...calledBy(called, calls)]));
}

/** The chart's `values.schema.json`. */
export const chartSchema = () => `${JSON.stringify(valuesSchema(), null, 2)}\n`;

if (import.meta.main) {
  writeFileSync(join(CHART, 'files', 'services.json'), chartServices(DEPLOYABLES));
  writeFileSync(join(CHART, 'values.schema.json'), chartSchema());
}
