// `node deploy/chart-files.ts`: writes the chart's table of processes from the table that `npm start` uses.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEY_HOLDERS, purposesOf } from '#kit/security/purposes.ts';
import { DEPLOYABLES, type Deployable } from '#local/processes.ts';

export const CHART = join(import.meta.dirname, '..', 'charts', 'guild-data');

/** Ports of the containers. */
export const PORTS = { public: 8080, http: 8081, grpc: 9091, admin: 9090 } as const;

/** The chart's `files/services.json`. */
export function chartServices(deployables: readonly Deployable[]): string {
  const services = Object.fromEntries(deployables.map(({ name, ...facts }) => [name, facts]));
  const keys = Object.fromEntries(KEY_HOLDERS.map((name) => [name, purposesOf(name)]));
  return `${JSON.stringify({ ports: PORTS, services, keys }, null, 2)}\n`;
}

if (import.meta.main) writeFileSync(join(CHART, 'files', 'services.json'), chartServices(DEPLOYABLES));
