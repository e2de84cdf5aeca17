import { AuthenticationFailures } from '#kit/limits/authentication-failures.ts';
import { KeyLookupRates } from '#kit/limits/key-lookup-rates.ts';
import type { Limiter } from '#kit/limits/limiter.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import { InteractionServiceService } from '#proto/gen/guild/auth/v1/interactions.ts';
import { SIGNATURE_LIMIT } from '#proto/rest/limits.ts';
import type { GatewayConfig } from '../config.ts';
import { Interactions } from './interactions.ts';
import { SignatureCheck } from './signature.ts';
import { InteractionTelemetry } from './telemetry.ts';

/** The platform waits for 3 seconds, from when it sends the request until it has received the response. */
const ACCEPT_MS = 1_800;
const CONNECT_MS = 500;
const MAX_NETWORKS = 100_000;
const MAX_BUCKETS = 50_000;
/** The signatures that are verified in a second for an address with too many failures. */
const CHECKS_PER_SECOND = 100;

/** Creates the endpoint for slash commands; undefined without the public key of the application. */
export function createInteractions(service: ServiceContext<GatewayConfig>, limiter: Limiter): Interactions | undefined {
  const { config, clock, log, metrics } = service;
  const publicKey = config.CHAT_APPLICATION_PUBLIC_KEY;
  if (publicKey === undefined) return undefined;
  return new Interactions({
    signatures: new SignatureCheck(publicKey),
    failures: new AuthenticationFailures(clock, MAX_NETWORKS, SIGNATURE_LIMIT),
    rates: new KeyLookupRates(clock, MAX_BUCKETS, CHECKS_PER_SECOND),
    limiter,
    auth: service.client(InteractionServiceService, 'auth', config.AUTH_GRPC_ADDRESS, {
      // The channel has a name of its own, because keys are verified over another one.
      dependency: 'auth-interactions',
      deadlineMs: ACCEPT_MS,
      connectMs: CONNECT_MS,
    }),
    clock,
    telemetry: new InteractionTelemetry(metrics, log),
  });
}
