import { DEPLOYABLES } from '#local/processes.ts';
import { prepareRoles } from '../../deploy/database-roles.ts';
import { migrateAll } from '../../deploy/migrate.ts';
import { Deployment, type DeploymentOptions } from '../failure/deployment.ts';
import { testRedisUrl } from '../redis/database.ts';
import { GUILDS } from './community.ts';
import { connected } from './content.ts';
import { PASSWORD } from './server.ts';

export const DATABASE = 'guild_data';
/** The owner of the database and of all schemas; not a superuser. */
export const OWNER = 'guild_data';

/** A server, or another way to its databases. */
export interface DatabaseServer {
  /** The URL of a database, by default for the superuser. */
  url(database: string, user?: string): string;
}

/** The role with which a service signs in, as in the chart and in docker-compose.yml. */
export const roleOf = (service: string) => `guild_data_${service}`;

const ROLES = DEPLOYABLES.filter(({ holds }) => holds.includes('database')).map(({ name }) => ({
  service: name,
  user: roleOf(name),
  password: PASSWORD,
}));

/** Creates the owner and an empty database, as an operator does before the installation. */
export async function createDatabase(server: DatabaseServer): Promise<void> {
  await connected(server.url('postgres'), async (client) => {
    await client.query(`CREATE ROLE ${OWNER} LOGIN CREATEROLE PASSWORD '${PASSWORD}'`);
    await client.query(`CREATE DATABASE ${DATABASE} OWNER ${OWNER}`);
  });
}

/** Migrates the database and gives the services their roles, as `deploy/migrate.ts` does. Returns what changed. */
export async function migrate(server: DatabaseServer): Promise<string[]> {
  const url = server.url(DATABASE, OWNER);
  return [...(await migrateAll(url)), ...(await prepareRoles(url, ROLES))];
}

/** Prepares all processes on a server, or behind another port that leads to it; each service has its own role. */
export async function deploymentOn(
  server: DatabaseServer & { port: number },
  options: Partial<DeploymentOptions> & { port?: number } = {},
): Promise<Deployment> {
  const { port = server.port, ...others } = options;
  return new Deployment({
    databaseUrl: (name) => `postgres://${roleOf(name)}:${PASSWORD}@127.0.0.1:${port}/${DATABASE}`,
    redisUrl: await testRedisUrl(),
    replicas: 1,
    guilds: GUILDS,
    ...others,
  });
}
