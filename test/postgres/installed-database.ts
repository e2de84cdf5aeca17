import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { VOLATILE } from '#local/postgres.ts';
import { migrateAll } from '../../deploy/migrate.ts';
import type { Installation } from '../restore/installation.ts';
import { createServerFolder, Server } from '../restore/server.ts';
import { databaseRows, type TestDatabase } from './database.ts';

const NAME = 'guild';

/**
 * Creates a database with all migrations on a server of an installation of this machine, which `drop` stops. Other tests use the
 * newest PostgreSQL only, and an older one may execute the same statement in another way.
 */
export async function createInstalledDatabase(installation: Installation): Promise<TestDatabase> {
  const folder = createServerFolder();
  const server = await Server.create(installation, join(folder, 'data'), { settings: VOLATILE });
  const drop = async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await databaseRows(server.url('postgres'), `CREATE DATABASE ${NAME}`);
    await migrateAll(server.url(NAME));
    return { url: server.url(NAME), drop };
  } catch (error) {
    await drop();
    throw error;
  }
}
