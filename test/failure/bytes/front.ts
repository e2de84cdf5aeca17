import { pino } from 'pino';
import { gatewayService } from '#gateway/service.ts';
import { systemClock } from '#kit/clock.ts';
import type { ResponseStream } from '#kit/grpc/definition.ts';
import { GrpcServer } from '#kit/grpc/server.ts';
import { makeApiKey } from '#kit/security/api-key.ts';
import { SecretRing } from '#kit/security/keyring.ts';
import { Readiness } from '#kit/service/readiness.ts';
import { startService } from '#kit/service/service.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { AuthServiceService, type VerifyRequest, type WatchResponse } from '#proto/gen/guild/auth/v1/auth.ts';
import { TEST_SECRETS, testKeys } from '../../system/keys.ts';
import { Recorder } from './recorder.ts';

export const SERVICES = ['AUTH', 'LOOKUP', 'BINDINGS', 'MEMBERS', 'ACTIVITY', 'MODERATION', 'EVENTS'];
const BEAT_MS = 500;

export interface Front {
  /** `host:port` of the gateway. */
  address: string;
  /** `host:port` of its metrics. */
  admin: string;
  recorder: Recorder;
  ring: SecretRing;
  stop(): Promise<void>;
}

export interface FrontOptions {
  /** Further environment variables of the gateway, which override the defaults. */
  environment?: Record<string, string>;
  /** Base URL used for every service; default: the recorder. */
  upstream?: string;
  /** Delays auth's response, by the guild of the key. */
  beforeVerify?: (guildId: string) => Promise<unknown> | undefined;
  /** Receives the gateway's log. */
  logLines?: string[];
}

/** The real gateway in front of a recorder instead of the services; every key with a correct checksum is valid. */
export async function startFront(options: FrontOptions = {}): Promise<Front> {
  const ring = new SecretRing(TEST_SECRETS);
  const recorder = new Recorder();
  const upstream = await recorder.start();
  const auth = await startAuth(ring, options.beforeVerify);
  const environment = {
    LISTEN_HOST: '127.0.0.1',
    GATEWAY_PORT: '0',
    INTERNAL_KEYS: testKeys(),
    AUTH_GRPC_ADDRESS: auth.address,
    ...Object.fromEntries(SERVICES.map((name) => [`${name}_HTTP_URL`, options.upstream ?? upstream])),
    ...options.environment,
  };
  const destination = { write: (line: string) => void options.logLines?.push(line) };
  const log = await createLog({ service: 'gateway', level: options.logLines ? 'info' : 'silent', destination });
  const gateway = await startService(gatewayService, environment, { log });
  const stop = async () => {
    await gateway.stop();
    await auth.stop();
    await recorder.stop();
  };
  const { http = '', admin } = gateway.addresses;
  return { address: http, admin, recorder, ring, stop };
}

/** A key of a guild, the same in every run, because randomness must come from the test's seed. */
export function keyOf(guildId: string): string {
  return makeApiKey(guildId, (size) => Buffer.alloc(size, 7));
}

/** Replaces auth: every key is valid. */
export async function startAuth(ring: SecretRing, beforeVerify?: FrontOptions['beforeVerify']): Promise<GrpcServer> {
  const parts = {
    clock: systemClock,
    metrics: new Metrics(),
    log: pino({ level: 'silent' }),
    readiness: new Readiness(),
  };
  const server = new GrpcServer({ service: 'auth', host: '127.0.0.1', port: 0, reflection: false, ...parts });
  const handlers = {
    verify: async ({ keys }: VerifyRequest) => {
      for (const { guildId } of keys) await beforeVerify?.(guildId);
      return { results: keys.map(({ guildId }) => ({ grant: grantOf(guildId), isUnavailable: false })) };
    },
    watch: async (_request: unknown, stream: ResponseStream<WatchResponse>) => {
      const beat = setInterval(() => stream.write({ event: { $case: 'beat', value: {} } }), BEAT_MS);
      await new Promise((resolve) => stream.signal.addEventListener('abort', resolve));
      clearInterval(beat);
    },
    recordUse: async () => ({}),
    reportRequests: async () => ({}),
  };
  server.add(AuthServiceService, handlers, { ring, names: new Set(['gateway']) });
  await server.start();
  return server;
}

const grantOf = (guildId: string) => ({
  keyId: `${guildId}-1`,
  guildId,
  prefix: `service_${guildId}_`,
  legacy: true,
  scopes: [],
  ipAllowlist: [],
  rateLimit: 0,
  expiresAt: 0,
  validUntil: 0,
  version: 1,
});
