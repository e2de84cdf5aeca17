import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { Client, DatabaseError } from 'pg';
import { PrimaryFinder } from '#kit/postgres/hosts/primary-finder.ts';
import { hostUrls } from '#kit/postgres/hosts/url.ts';
import { retryWhileLocked } from '#kit/postgres/migrations/lock-retry.ts';
import { LOCK_PATIENCE_MS, type MigrateOptions } from '#kit/postgres/migrations/migrate.ts';
import { LOCK_TIMEOUT_MS, openMigrationSession, takeAdvisoryLock } from '#kit/postgres/migrations/session.ts';
import { ConfigError } from '#kit/service/config.ts';

/** The role with which a service connects. A role without a password was created by the operator and only gets rights. */
export type ServiceRole = { service: string; user: string; password: string | undefined };

/** Rights on tables that are withheld from a service, and the functions that do the few permitted things instead. */
interface Exceptions {
  revoked: readonly (readonly [rights: string, table: string])[];
  functions: readonly string[];
}

/**
 * The audit is append-only even for auth: an attacker who controls auth can neither change nor delete entries, nor
 * choose the position of new ones (deploy/decisions/0011).
 */
const EXCEPTIONS: Readonly<Record<string, Exceptions>> = {
  auth: {
    revoked: [
      ['UPDATE, DELETE', 'audit'],
      ['INSERT, UPDATE, DELETE', 'audit_heads'],
      ['UPDATE, DELETE', 'audit_checkpoints'],
      ['DELETE', 'operators'],
    ],
    functions: [
      'erase_audit_of_guild(text, integer)',
      'erase_audit_of_user(text, bigint, text, integer)',
      'prune_audit(text, bigint)',
    ],
  },
  // The service creates and drops the partitions of its tables, without a right to change the schema in another way.
  events: { revoked: [], functions: ['create_partition(text, date)', 'drop_partition(text, date)'] },
};

/** Advisory lock, so that two migrations do not grant rights concurrently; the number is arbitrary. */
const LOCK = 5_042_017_327;
const ITERATIONS = 4096;
/** Less than the time after which PostgreSQL ends the idle session that waits for it. */
const CONNECT_MS = 5_000;
/** The SQL state of a wrong password. 28000 is also that of a missing line in pg_hba.conf, which a new password does not add. */
const WRONG_PASSWORD = '28P01';

/** The variables with a service's role of the database, and its password. */
export const userVariable = (service: string) => `${service.toUpperCase()}_DATABASE_USER`;
export const passwordVariable = (service: string) => `${service.toUpperCase()}_DATABASE_PASSWORD`;

/**
 * Roles from the environment: `AUTH_DATABASE_USER`, and `AUTH_DATABASE_PASSWORD` if the role should be created. `url` is that
 * of the owner of the schemas. Throws all faults at once.
 */
export function rolesOf(services: readonly string[], environment: NodeJS.ProcessEnv, url: string): ServiceRole[] {
  const faults: string[] = [];
  const [first] = hostUrls(url);
  const owner = decodeURIComponent(new URL(first).username);
  const roles = new Map<string, ServiceRole>();
  for (const service of services) {
    const user = environment[userVariable(service)];
    const password = environment[passwordVariable(service)] || undefined;
    const same = user && roles.get(user)?.service;
    if (!user && password) faults.push(`${passwordVariable(service)} is set without ${userVariable(service)}`);
    if (user && user === owner)
      faults.push(`${userVariable(service)} must differ from the user of DATABASE_URL, which owns the schemas`);
    if (same)
      faults.push(`${userVariable(service)} and ${userVariable(same)} must differ: each service has its own role`);
    if (user) roles.set(user, { service, user, password });
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return [...roles.values()];
}

/**
 * Lets each role read and write the tables of its service, but for a few exceptions, and nothing else; a role whose password is given is made, or
 * given that password. `url` is that of the owner of the schemas. Returns what was made or changed, in words.
 */
export async function prepareRoles(
  url: string,
  roles: readonly ServiceRole[],
  { lockPatienceMs: patienceMs = LOCK_PATIENCE_MS, report = () => {} }: Omit<MigrateOptions, 'url'> = {},
): Promise<string[]> {
  const client = await openMigrationSession(url);
  try {
    await takeAdvisoryLock(client, LOCK, report);
    const done: string[] = [];
    for (const role of roles) {
      const onRetry = (error: unknown, pauseMs: number) =>
        report(`the role ${role.user} is tried again in ${(pauseMs / 1000).toFixed(1)} s: ${String(error)}`);
      const retry = { patienceMs, lockTimeoutMs: LOCK_TIMEOUT_MS, onRetry };
      const change = await retryWhileLocked(() => makeRole(client, url, role), retry);
      if (change) done.push(change);
      await retryWhileLocked(() => grant(client, role), retry);
    }
    return done;
  } finally {
    await client.end();
  }
}

/**
 * Gives roles that exist the rights to tables that the next migrations create, from the moment when they are created.
 * A new process of a service starts as soon as the migrations of its service are complete, while those of other services
 * and `prepareRoles` may take minutes.
 */
export async function grantOnNewTables(
  url: string,
  roles: readonly ServiceRole[],
  report: MigrateOptions['report'] = () => {},
): Promise<void> {
  const client = await openMigrationSession(url);
  try {
    await takeAdvisoryLock(client, LOCK, report);
    for (const { service, user } of roles) {
      const exists = `SELECT 1 FROM pg_roles, pg_namespace WHERE rolname = $1 AND nspname = $2`;
      const { rowCount } = await client.query(exists, [user, service]);
      if (rowCount === 0) continue;
      const grant = `ALTER DEFAULT PRIVILEGES IN SCHEMA ${client.escapeIdentifier(service)} GRANT`;
      const role = client.escapeIdentifier(user);
      await client.query(`${grant} SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${role}`);
      await client.query(`${grant} USAGE, SELECT ON SEQUENCES TO ${role}`);
    }
  } finally {
    await client.end();
  }
}

async function makeRole(client: Client, url: string, { user, password }: ServiceRole): Promise<string | undefined> {
  if (password === undefined) return undefined;
  const name = client.escapeIdentifier(user);
  const select = 'SELECT rolcanlogin FROM pg_roles WHERE rolname = $1';
  const { rows } = await client.query<{ rolcanlogin: boolean }>(select, [user]);
  const [role] = rows;
  if (!role) {
    await client.query(`CREATE ROLE ${name} LOGIN PASSWORD ${client.escapeLiteral(scramVerifier(password))}`);
    return `made the role ${user}`;
  }
  // Setting it again would change the salt, and a pooler that has cached the old one could no longer connect.
  if (role.rolcanlogin && (await canSignIn(url, user, password))) return undefined;
  await client.query(`ALTER ROLE ${name} LOGIN PASSWORD ${client.escapeLiteral(scramVerifier(password))}`);
  return `set the password of the role ${user}`;
}

/** In one transaction, so that no service ever lacks its rights. */
async function grant(client: Client, role: ServiceRole): Promise<void> {
  await client.query('BEGIN');
  try {
    await grantRights(client, role);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

async function grantRights(client: Client, { service, user }: ServiceRole): Promise<void> {
  const role = client.escapeIdentifier(user);
  const schema = client.escapeIdentifier(service);
  await client.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
  await client.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
  await client.query(`GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}`);
  await client.query(`REVOKE INSERT, UPDATE, DELETE ON ${schema}.schema_migrations FROM ${role}`);
  const { revoked = [], functions = [] } = EXCEPTIONS[service] ?? {};
  for (const [rights, table] of revoked) await client.query(`REVOKE ${rights} ON ${schema}.${table} FROM ${role}`);
  for (const name of functions) await client.query(`GRANT EXECUTE ON FUNCTION ${schema}.${name} TO ${role}`);
}

async function canSignIn(url: string, user: string, password: string): Promise<boolean> {
  const address = new URL(await new PrimaryFinder(url, 'migrate').find());
  address.username = encodeURIComponent(user);
  address.password = encodeURIComponent(password);
  const client = new Client({ connectionString: address.href, connectionTimeoutMillis: CONNECT_MS });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === WRONG_PASSWORD) return false;
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The form in which PostgreSQL stores a password (RFC 5803). Statements may be logged, so none contains the password. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, ITERATIONS, 32, 'sha256');
  const hmac = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${hmac('Server Key').toString('base64')}`;
}
