import { type Clock, systemClock } from '#kit/clock.ts';
import { GrpcChannel, type GrpcClient, isGrpcFailure } from '#kit/grpc/client.ts';
import type { DefinitionShape } from '#kit/grpc/definition.ts';
import { createTicket, digestOf, TICKET_HEADER } from '#kit/grpc/operators.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { SecretRing } from '#kit/security/keyring.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { TEST_SECRETS, testCallerOf } from '../system/keys.ts';

/** The deadline of a call in milliseconds, long enough for a busy machine. */
const PATIENCE_MS = 20_000;

/** The operator that services see in calls of tests. */
export const TEST_OPERATOR = 'tester';

/** A client that calls a service as another service does, with keys derived from these secrets. */
export function connect<Definition extends DefinitionShape>(
  definition: Definition,
  audience: string,
  address: string,
  clock: Clock = systemClock,
  secrets: readonly string[] = TEST_SECRETS,
): { client: GrpcClient<Definition>; close: () => void } {
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  const ring = new SecretRing(secrets);
  const channel = new GrpcChannel({
    caller: testCallerOf(definition, audience),
    audience,
    address,
    ring,
    // The ticket that auth issues to operators; services that operators do not call ignore it.
    headers: async ({ path: method }, request) => {
      const call = { service: audience, method, operator: TEST_OPERATOR, digest: digestOf(request) };
      return { [TICKET_HEADER]: createTicket(ring, call, clock.now()) };
    },
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

export type Headers = (method: string, request: Buffer) => Promise<Record<string, string>>;

/** A client that calls a service with these headers and without a call token. */
export function connectWith<Definition extends DefinitionShape>(
  definition: Definition,
  audience: string,
  address: string,
  headers: Headers,
): { client: GrpcClient<Definition>; close: () => void } {
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  const channel = new GrpcChannel({
    caller: 'operators',
    audience,
    address,
    clock: systemClock,
    metrics,
    deadlineMs: PATIENCE_MS,
    breaker: breakers.create(audience, isGrpcFailure),
    headers: ({ path }, request) => headers(path, request),
  });
  const close = () => {
    channel.close();
    breakers.stop();
  };
  return { client: channel.methods(definition), close };
}
