import { setTimeout as wait } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import { PrimaryFinder } from '../hosts/primary-finder.ts';
import { describeSession, type Report, type Session } from './lock-watch.ts';

/**
 * The maximum wait in milliseconds for a lock. While a migration waits for the lock of a table, all later statements
 * on that table wait behind it, so this is shorter than the timeout of reads (READ_MS in connection.ts). It is longer than
 * PostgreSQL's deadlock_timeout of one second, after which an autovacuum that holds the lock gives way.
 */
export const LOCK_TIMEOUT_MS = 1_200;
/** The time in milliseconds after which PostgreSQL ends a session that is idle, because its client has disappeared. */
const IDLE_MS = 10_000;
/** The pause in milliseconds between two attempts to take an advisory lock. */
const POLL_MS = 250;
const REPORT_EVERY_MS = 10_000;

/**
 * The settings of a session that migrates. Statements may take as long as they need. PostgreSQL ends the session, and
 * releases its locks, soon after the migrating process was killed or its network was cut: it checks once a second if
 * the connection is still open, also while a statement runs, and TCP notices within 25 s that the other side is gone.
 */
const SETTINGS = {
  statement_timeout: 0,
  lock_timeout: LOCK_TIMEOUT_MS,
  client_connection_check_interval: 1_000,
  idle_in_transaction_session_timeout: IDLE_MS,
  idle_session_timeout: IDLE_MS,
  // Seconds, seconds and probes.
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
};

/** Opens a session on the primary that may change schemas and roles; not through a transaction pooler. */
export async function openMigrationSession(url: string, options: ClientConfig = {}): Promise<Client> {
  const client = new Client({
    connectionString: await new PrimaryFinder(url, 'migrate').find(),
    application_name: 'migrate',
    connectionTimeoutMillis: 10_000,
    // Node then probes the connection every second, ten times, so this process notices a cut within 20 s.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...options,
  });
  // Without a listener a connection lost between two queries would terminate the process; the next query reports the
  // loss.
  client.on('error', () => {});
  await client.connect();
  try {
    // As a startup parameter they would be lost to `options` in the URL, and poolers reject that parameter.
    const statements = Object.entries(SETTINGS).map(([name, value]) => `SET ${name} = ${value}`);
    await client.query(statements.join('; '));
  } catch (error) {
    await client.end();
    throw error;
  }
  return client;
}

/** Sets how long, in milliseconds, the following statements of a session wait for a lock; at least, and by default, a short time. */
export async function setLockTimeout(client: Client, milliseconds = LOCK_TIMEOUT_MS): Promise<void> {
  // PostgreSQL takes 0 for no limit.
  await client.query(`SET lock_timeout = ${Math.max(LOCK_TIMEOUT_MS, Math.ceil(milliseconds))}`);
}

/**
 * Takes an advisory lock, which the session holds until it ends. It tries again and again instead of waiting in
 * PostgreSQL: a waiting session would outlive its killed process, and CREATE INDEX CONCURRENTLY of the holder would
 * wait for it.
 */
export async function takeAdvisoryLock(client: Client, lock: number, report: Report): Promise<void> {
  for (let waited = 0; ; waited += POLL_MS) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [lock]);
    if (rows[0]?.taken) return;
    if (waited % REPORT_EVERY_MS === 0) report(`waiting for another migration: ${await holderOf(client, lock)}`);
    await wait(POLL_MS);
  }
}

async function holderOf(client: Client, lock: number): Promise<string> {
  const { rows } = await client.query<Session>(
    `SELECT pid, usename AS role, application_name AS application, client_addr AS address, state,
       extract(epoch FROM clock_timestamp() - xact_start)::int AS seconds
     FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND granted AND classid = ($1::bigint >> 32)::oid
       AND objid = ($1::bigint & 4294967295)::oid AND objsubid = 1
       AND database = (SELECT oid FROM pg_database WHERE pg_database.datname = current_database())`,
    [lock],
  );
  return rows[0] ? describeSession(rows[0]) : 'it has just ended';
}
