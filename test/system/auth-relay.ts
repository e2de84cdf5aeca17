import type { ClientReadableStream } from '@grpc/grpc-js';
import { pino } from 'pino';
import { systemClock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { ResponseStream } from '#kit/grpc/definition.ts';
import { GrpcServer } from '#kit/grpc/server.ts';
import { Readiness } from '#kit/service/readiness.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { AuthServiceService, type KeyHash, type WatchResponse } from '#proto/gen/guild/auth/v1/auth.ts';
import { connect } from '../network/grpc.ts';
import { allowedCallers } from './keys.ts';

/** `frozen`: streams stay open without messages. `closed`: streams end, and new ones are rejected. */
type Watching = 'passed on' | 'frozen' | 'closed';

/**
 * A relay between gateways and auth: records the verified keys, and can hold back changes of keys while it still
 * verifies keys. A TCP proxy cannot do that, because both use the same connection.
 */
export class AuthRelay {
  /** The keys that gateways have verified so far, without probes. */
  readonly asked: KeyHash[] = [];
  readonly #streams = new Set<ClientReadableStream<WatchResponse>>();
  readonly #secret: string;
  readonly #upstream;
  #server: GrpcServer | undefined;
  #port = 0;
  #watching: Watching = 'passed on';

  constructor(authAddress: string, secret: string) {
    this.#secret = secret;
    this.#upstream = connect(AuthServiceService, 'auth', authAddress, systemClock, [secret]);
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** The number of gateways that are watching now. */
  get watchers(): number {
    return this.#streams.size;
  }

  set watching(watching: Watching) {
    this.#watching = watching;
    if (watching === 'closed') for (const stream of this.#streams) stream.cancel();
  }

  /** Starts, or starts again on the same port. */
  async start(): Promise<void> {
    const listen = { host: '127.0.0.1', port: this.#port, reflection: false };
    const log = pino({ level: 'silent' });
    const parts = { clock: systemClock, metrics: new Metrics(), log, readiness: new Readiness() };
    this.#server = new GrpcServer({ service: 'auth', ...listen, ...parts });
    const { client } = this.#upstream;
    this.#server.add(
      AuthServiceService,
      {
        verify: (request) => {
          this.asked.push(...request.keys.filter(({ hash }) => !hash.equals(Buffer.alloc(32))));
          return client.verify(request);
        },
        watch: (_request, stream) => this.#watch(stream),
        recordUse: (request) => client.recordUse(request),
        reportRequests: (request) => client.reportRequests(request),
      },
      allowedCallers([this.#secret], 'gateway'),
    );
    await this.#server.start();
    this.#port = Number(this.#server.address.split(':')[1]);
  }

  /** Makes auth unreachable for gateways until the next start. */
  async stop(): Promise<void> {
    for (const stream of this.#streams) stream.cancel();
    await this.#server?.stop();
    this.#server = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    this.#upstream.close();
  }

  async #watch(down: ResponseStream<WatchResponse>): Promise<void> {
    if (this.#watching === 'closed') throw new ApiError('UNAVAILABLE');
    const up = this.#upstream.client.watch({});
    this.#streams.add(up);
    up.on('data', (message: WatchResponse) => {
      if (this.#watching === 'passed on') down.write(message);
    });
    down.signal.addEventListener('abort', () => up.cancel());
    await new Promise<void>((resolve) => up.on('error', () => resolve()).on('end', () => resolve()));
    this.#streams.delete(up);
  }
}

/** Creates a relay and starts it. */
export async function startAuthRelay(authAddress: string, secret: string): Promise<AuthRelay> {
  const relay = new AuthRelay(authAddress, secret);
  await relay.start();
  return relay;
}
