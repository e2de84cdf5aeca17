import { randomBytes } from 'node:crypto';
import type { Clock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { readApiKey } from '#kit/security/api-key.ts';
import { internalKeysOf } from '#kit/security/process-keys.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { type CreateKeyRequest, type Key, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { AuthServiceService, type KeyGrant, type WatchResponse } from '#proto/gen/guild/auth/v1/auth.ts';
import { authService } from '#services/auth/service.ts';
import { connect } from '../network/grpc.ts';
import { TEST_ADMIN_SECRETS, TEST_SECRETS } from './keys.ts';

export const INTERNAL_SECRET = randomBytes(32).toString('hex');
export const ADMIN_SECRET = randomBytes(32).toString('hex');

export interface TestAuth {
  service: RunningService;
  address: string;
  auth: GrpcClient<typeof AuthServiceService>;
  admin: GrpcClient<typeof KeyAdminServiceService>;
  /** The lines that the service has logged. */
  log: string[];
  stop(): Promise<void>;
}

export interface TestAuthOptions {
  databaseUrl: string;
  /** The URL for LISTEN; `databaseUrl` by default. */
  directUrl?: string;
  /** The database's clock by default. */
  clock?: Clock;
  /** The root secrets; those of this file by default. */
  roots?: { internal: readonly string[]; admin: readonly string[] };
  /** Further environment variables. */
  environment?: Record<string, string>;
}

/** The address of the console in links of tests. */
export const TEST_CONSOLE_URL = 'https://console.example';

/** Starts an auth service on free ports, with clients that have its secrets. */
export async function startTestAuth(options: TestAuthOptions): Promise<TestAuth> {
  const { databaseUrl, directUrl, clock, roots } = options;
  const { internal: secrets, admin: adminSecrets } = roots ?? { internal: [INTERNAL_SECRET], admin: [ADMIN_SECRET] };
  const log: string[] = [];
  const destination = { write: (line: string) => void log.push(line) };
  const environment = {
    LISTEN_HOST: '127.0.0.1',
    GRPC_REFLECTION: 'false',
    INTERNAL_KEYS: internalKeysOf('auth', { internal: secrets, admin: adminSecrets }),
    DATABASE_URL: databaseUrl,
    DATABASE_DIRECT_URL: directUrl,
    // Nothing listens there: recorded events stay in the queue, and no usage of other services can be read.
    EVENTS_GRPC_ADDRESS: '127.0.0.1:1',
    LOOKUP_GRPC_ADDRESS: '127.0.0.1:1',
    BINDINGS_GRPC_ADDRESS: '127.0.0.1:1',
    MEMBERS_GRPC_ADDRESS: '127.0.0.1:1',
    ACTIVITY_GRPC_ADDRESS: '127.0.0.1:1',
    MODERATION_GRPC_ADDRESS: '127.0.0.1:1',
    MEMBERS_HTTP_URL: 'http://127.0.0.1:1',
    ACTIVITY_HTTP_URL: 'http://127.0.0.1:1',
    MODERATION_HTTP_URL: 'http://127.0.0.1:1',
    CONSOLE_URL: TEST_CONSOLE_URL,
    ...options.environment,
  };
  const service = await startService(authService, environment, {
    log: await createLog({ service: 'auth', level: 'info', destination }),
    ...(clock ? { clock } : {}),
  });
  const address = service.addresses.grpc ?? '';
  const internal = connect(AuthServiceService, 'auth', address, clock, secrets);
  const admin = connect(KeyAdminServiceService, 'auth', address, clock, adminSecrets);
  return {
    service,
    address,
    log,
    auth: internal.client,
    admin: admin.client,
    stop: async () => {
      internal.close();
      admin.close();
      await service.stop();
    },
  };
}

/** Creates a key of a guild, with the scope `lookup:read` by default. */
export async function createKey(
  { admin }: TestAuth,
  asked: Partial<CreateKeyRequest> & { guildId: string },
): Promise<{ key: Key; secret: string }> {
  const request = { name: '', legacy: false, scopes: ['lookup:read'], ipAllowlist: [], actor: 'ada', ...asked };
  const { key, secret } = await admin.createKey(request);
  return { key: key as Key, secret };
}

/** Verifies keys in one call and returns their grants; undefined for unknown keys. */
export async function verifyKeys({ auth }: TestAuth, ...secrets: string[]): Promise<(KeyGrant | undefined)[]> {
  const keys = secrets.map((secret) => {
    const read = readApiKey(secret);
    if (!read) throw new Error('not a key');
    return { guildId: read.guildId, hash: read.hash };
  });
  const { results } = await auth.verify({ keys });
  return results.map((result) => result.grant);
}

export interface Watched {
  /** The events received so far, with their arrival times by performance.now(). */
  seen: { event: NonNullable<WatchResponse['event']>; at: number }[];
  /** True when the service has ended the stream without an error. */
  hasEnded: boolean;
  cancel(): void;
}

/** Subscribes to changes of keys until cancelled. */
export function watchKeys(auth: TestAuth['auth']): Watched {
  const stream = auth.watch({});
  const watched: Watched = { seen: [], hasEnded: false, cancel: () => stream.cancel() };
  stream.on('data', ({ event }: WatchResponse) => {
    if (event) watched.seen.push({ event, at: performance.now() });
  });
  stream.on('end', () => (watched.hasEnded = true));
  stream.on('error', () => undefined);
  return watched;
}

/** The versions of a key that a watcher has received. */
export function receivedVersions({ seen }: Watched, keyId: string): number[] {
  return seen.flatMap(({ event }) =>
    event.$case === 'change' && event.value.keyId === keyId ? [event.value.version] : [],
  );
}

/** The number of heartbeats that a watcher has received. */
export function receivedBeats({ seen }: Watched): number {
  return seen.filter(({ event }) => event.$case === 'beat').length;
}

/** Starts an auth service with the root secrets of other services in tests: guildctl needs it for every call. */
export function startAuthForOperators(databaseUrl: string): Promise<TestAuth> {
  return startTestAuth({ databaseUrl, roots: { internal: TEST_SECRETS, admin: TEST_ADMIN_SECRETS } });
}
