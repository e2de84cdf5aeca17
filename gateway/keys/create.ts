import { randomUUID } from 'node:crypto';
import type { Clock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { AuthServiceService, KeyChange } from '#proto/gen/guild/auth/v1/auth.ts';
import { Keys } from './keys.ts';
import { ChangeProof } from './proof.ts';
import { RequestCounts } from './request-counts.ts';
import { KeyUsage } from './usage.ts';
import { ChangeWatch } from './watch.ts';

export interface CreateKeysOptions {
  /** Called when an API key has changed, after its cached grants were dropped. */
  onChange?: (change: KeyChange) => void;
  client: GrpcClient<AuthServiceService>;
  clock: Clock;
  /** Returns a random number from 0 up to, but not including, 1. */
  random: () => number;
  metrics: Metrics;
  log: Logger;
  config: { AUTH_STALE_SECONDS: number; KEY_CACHE_MAX: number };
}

/** Creates everything that verifies API keys and reports their usage. The parts start in the returned order. */
export function createKeys(options: CreateKeysOptions): {
  keys: Keys;
  usage: KeyUsage;
  requests: RequestCounts;
  parts: Part[];
} {
  const { client, clock, random, metrics, log, config } = options;
  const proof = new ChangeProof();
  const max = config.KEY_CACHE_MAX;
  const keys = new Keys({ client, clock, random, metrics, proof, staleSeconds: config.AUTH_STALE_SECONDS, max });
  const usage = new KeyUsage({ client, clock, log, max });
  const requests = new RequestCounts({ client, clock, metrics, log, reporter: randomUUID() });
  const watch = new ChangeWatch({
    client,
    clock,
    random,
    metrics,
    log,
    onBeat: () => {
      proof.beat(clock.now());
      void keys.renewDueKeys();
    },
    onChange: (change) => {
      keys.handleChange(change);
      options.onChange?.(change);
    },
    onDisconnect: () => keys.handleDisconnect(),
  });
  return { keys, usage, requests, parts: [usage, requests, watch] };
}
