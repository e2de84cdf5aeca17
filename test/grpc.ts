import { Breakers } from '#kit/breaker.ts';
import { type Clock, systemClock } from '#kit/clock.ts';
import type { DefinitionShape } from '#kit/grpc.ts';
import { GrpcChannel, type GrpcClient, isGrpcFailure } from '#kit/grpc-client.ts';
import { Metrics } from '#kit/metrics.ts';
import { SecretRing } from '#kit/secrets.ts';
import { TEST_SECRETS, testCallerOf } from './keys.ts';

/** Milliseconds: what prepares a test, or asks how things are, waits out a machine that stalls. */
const PATIENCE_MS = 20_000;

/** Calls a service's gRPC as another service does, or as whoever holds these secrets. */
export function connect<Definition extends DefinitionShape>(
  definition: Definition,
  audience: string,
  address: string,
  clock: Clock = systemClock,
  secrets: readonly string[] = TEST_SECRETS,
): { client: GrpcClient<Definition>; close: () => void } {
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  const channel = new GrpcChannel({
    caller: testCallerOf(definition, audience),
    audience,
    address,
    ring: new SecretRing(secrets),
    clock,
    metrics,
    deadlineMs: PATIENCE_MS,
    breaker: breakers.create(audience, isGrpcFailure),
  });
  const close = () => {
    channel.close();
    breakers.stop();
  };
  return { client: channel.methods(definition), close };
}
