import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findInstallations, type Installation } from '../restore/installation.ts';

/** Where the programs of a PostgreSQL with the extension are; by default each installation of Debian is examined. */
const VARIABLE = 'CITUS_PG_BIN';

/** The newest PostgreSQL of this machine that has the extension Citus installed; undefined if there is none. */
export function findCitus(environment: NodeJS.ProcessEnv = process.env): Installation | undefined {
  const folder = environment[VARIABLE];
  const installations = findInstallations(folder ? { PG_BIN: folder } : environment);
  return installations.findLast(hasCitus);
}

export const NOT_CHECKED = `NOT CHECKED: no PostgreSQL has the extension Citus, and ${VARIABLE} names none`;

function hasCitus({ folder }: Installation): boolean {
  const shared = execFileSync(join(folder, 'pg_config'), ['--sharedir'], { encoding: 'utf8' }).trim();
  return existsSync(join(shared, 'extension', 'citus.control'));
}
