import {
  Client,
  type ClientReadableStream,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
  type StatusObject,
  status,
} from '@grpc/grpc-js';
import { HealthService } from '#proto/gen/grpc/health/v1/health.ts';
import type { Clock } from '../clock.ts';
import { ApiError } from '../errors.ts';
import type { Breaker } from '../resilience/breaker.ts';
import { FirstConnection, NotConnectedYet } from '../resilience/first-connection.ts';
import { RetryBudget } from '../resilience/retry-budget.ts';
import type { InternalTls } from '../security/internal-tls.ts';
import type { KeyRing } from '../security/keyring.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { recordedSpan } from '../telemetry/tracing/current-span.ts';
import type { Span } from '../telemetry/tracing/span.ts';
import { describeCall } from './call-context.ts';
import { callMetadata } from './call-metadata.ts';
import type { DefinitionShape, MethodShape, RequestOf, ResponseOf } from './definition.ts';
import { fromStatus } from './errors.ts';
import { hasNoResponse, wasLost, wasRefused } from './failures.ts';

export { isGrpcFailure } from './failures.ts';

const DEADLINE_MS = 3_000;
/** The deadline in milliseconds of a health check that probes the called service while its circuit breaker is open. */
const PROBE_MS = 1_000;
/** How often, in milliseconds, a channel resolves an unknown host name again while calls wait for a connection. */
const RESOLVE_EVERY_MS = 250;
/**
 * The maximum size of a gRPC response in bytes; the largest one, 500 role verdicts for each of 100 members, has 5 MiB.
 */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** The client functions of a gRPC service: unary methods return a promise, streaming methods a stream. */
export type GrpcClient<Definition extends DefinitionShape> = {
  [Name in keyof Definition]: Definition[Name]['responseStream'] extends true
    ? (request: RequestOf<Definition[Name]>) => ClientReadableStream<ResponseOf<Definition[Name]>>
    : (request: RequestOf<Definition[Name]>) => Promise<ResponseOf<Definition[Name]>>;
};

export interface GrpcClientOptions {
  /** The name of the calling process. */
  caller: string;
  /** The name of the called service. */
  audience: string;
  /** The address of the called service: `host:port` or `dns:///host:port`. */
  address: string;
  /** The keys that sign call tokens; left out for callers that authenticate only with `headers`. */
  ring?: KeyRing | undefined;
  clock: Clock;
  metrics: Metrics;
  breaker: Breaker;
  /** The TLS certificates of this process; without them calls are not encrypted. */
  tls?: InternalTls | undefined;
  /**
   * Returns headers that authenticate an operator, who has no call token. If this function throws, the call fails with
   * that error. Only unary methods can be called with it.
   */
  headers?: ((method: MethodShape, request: Buffer) => Promise<Record<string, string>>) | undefined;
  /** The maximum duration of a call in milliseconds; 3 s if left out. */
  deadlineMs?: number;
  /** The maximum time in milliseconds that a call waits for a connection; the whole deadline if left out. */
  connectMs?: number;
}

/** A gRPC channel to another service, which offers the methods of that service as functions. */
export class GrpcChannel {
  readonly #client: Client;
  readonly #options: GrpcClientOptions;
  readonly #handled;
  readonly #retried;
  readonly #budget = new RetryBudget();
  /** True after a call could not get a connection: until there is a connection, further calls fail without waiting. */
  #isUnreachable = false;
  readonly #first = new FirstConnection();
  #isClosed = false;
  /** The number of calls that wait for a connection. While there are any, a timer makes the channel connect. */
  #waiting = 0;
  #connectTimer: NodeJS.Timeout | undefined;

  constructor(options: GrpcClientOptions) {
    this.#options = options;
    this.#handled = options.metrics.counter(
      'grpc_client_handled_total',
      'gRPC calls to other services, by method and result code',
      ['method', 'code'],
    );
    this.#retried = options.metrics.counter(
      'grpc_client_retries_total',
      'gRPC calls sent again because the connection was lost or the server did not begin them',
      ['method'],
    );
    const tls = options.tls?.channelTo(options.address);
    this.#client = new Client(options.address, tls?.credentials ?? credentials.createInsecure(), {
      ...tls?.options,
      'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
      // Host names are resolved again when a connection is lost. The default of 30 s is longer than it takes to replace
      // all replicas of a service one after another: then no replica would be left at the known addresses.
      'grpc.dns_min_time_between_resolutions_ms': 500,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
      'grpc.keepalive_time_ms': 10_000,
      'grpc.keepalive_timeout_ms': 2_000,
      'grpc.max_receive_message_length': MAX_RESPONSE_BYTES,
    });
    options.breaker.probeWith(() => this.#probe());
  }

  /**
   * Returns the client functions of a service definition. The idempotent methods in `repeatable` are retried once if
   * the connection is lost, within the same deadline. At most a tenth of all calls are retried. Every call that the server
   * refused without beginning it is sent once more.
   */
  methods<Definition extends DefinitionShape>(
    definition: Definition,
    repeatable: readonly (keyof Definition)[] = [],
  ): GrpcClient<Definition> {
    const methods = Object.entries(definition).map(([name, method]) => [
      name,
      method.responseStream
        ? (request: unknown) => this.#stream(method, request)
        : (request: unknown) => this.#options.breaker.run(() => this.#call(method, request, repeatable.includes(name))),
    ]);
    return Object.fromEntries(methods);
  }

  close(): void {
    this.#isClosed = true;
    this.#client.close();
  }

  /** Probes the called service with a health check. Any response is a success, even an error of the service. */
  async #probe(): Promise<void> {
    const { path, requestSerialize, responseDeserialize } = HealthService.check;
    const request = { service: '' };
    const metadata = new Metadata({ waitForReady: true });
    const deadline = Date.now() + PROBE_MS;
    await new Promise<void>((resolve, reject) => {
      const done = (error: ServiceError | null) => (error && hasNoResponse(error) ? reject(error) : resolve());
      this.#open(() =>
        this.#client.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          request,
          metadata,
          { deadline },
          done,
        ),
      );
    });
    this.#connected();
  }

  async #call(method: MethodShape, request: unknown, isRepeatable: boolean): Promise<unknown> {
    const deadline = Date.now() + (this.#options.deadlineMs ?? DEADLINE_MS);
    this.#budget.called();
    try {
      return await this.#attempt(method, request, deadline);
    } catch (error) {
      // Many calls may be refused at once, and a refused call costs the server almost nothing, so its retry takes
      // nothing from the budget.
      const mayRepeat = wasRefused(error) || (isRepeatable && wasLost(error) && this.#budget.take());
      if (!mayRepeat || Date.now() >= deadline) throw error;
      this.#retried.inc({ method: method.path });
      return this.#attempt(method, request, deadline);
    }
  }

  /** Makes the call without retries. */
  #attempt(method: MethodShape, request: unknown, deadline: number): Promise<unknown> {
    const span = recordedSpan();
    if (!span) return this.#send(method, request, deadline);
    return span.call(describeCall(method.path), (call) => this.#send(method, request, deadline, call));
  }

  /** Waits for a connection and sends the request. */
  async #send(method: MethodShape, request: unknown, deadline: number, span?: Span): Promise<unknown> {
    try {
      await this.#waitForConnection(
        Math.min(Date.now() + (this.#options.connectMs ?? Number.POSITIVE_INFINITY), deadline),
      );
    } catch (error) {
      this.#handled.inc({ method: method.path, code: 'UNAVAILABLE' });
      throw error;
    }
    const { headers } = this.#options;
    const metadata = callMetadata(method, this.#options, span);
    if (!headers) return this.#unary(method, request, deadline, metadata);
    // The request is serialized once, because the headers contain a signature of exactly these bytes.
    const bytes = method.requestSerialize(request as never);
    for (const [name, value] of Object.entries(await headers(method, bytes))) metadata.set(name, value);
    return this.#unary({ ...method, requestSerialize: () => bytes }, request, deadline, metadata);
  }

  /** Waits for a connection. Throws UNAVAILABLE at once if an earlier call failed to get one and the service is not new. */
  async #waitForConnection(deadline: number): Promise<void> {
    // The state of a closed channel is not read, because getConnectivityState would open the channel again.
    if (this.#isClosed) throw new ApiError('UNAVAILABLE', { cause: new Error('the channel is closed') });
    if (this.#isConnected()) return this.#connected();
    if (this.#isUnreachable)
      throw new ApiError('UNAVAILABLE', { cause: new Error(`${this.#options.audience} is unreachable`) });
    // Read before the wait, because the time in which the service may be starting begins with the first call.
    const isFirst = this.#first.isAwaited;
    this.#startWaiting();
    await new Promise<void>((resolve, reject) => {
      this.#client.waitForReady(deadline, (cause) => {
        this.#stopWaiting();
        if (!cause) return resolve(this.#connected());
        this.#isUnreachable = !isFirst;
        reject(new ApiError('UNAVAILABLE', { cause: isFirst ? new NotConnectedYet(cause.message) : cause }));
      });
    });
  }

  #connected(): void {
    this.#isUnreachable = false;
    this.#first.made();
  }

  /** gRPC resolves an unknown host name again only if a connection is requested, so a timer requests one repeatedly. */
  #startWaiting(): void {
    if (this.#waiting++ === 0) this.#connectTimer = setInterval(() => this.#isConnected(), RESOLVE_EVERY_MS).unref();
  }

  #stopWaiting(): void {
    if (--this.#waiting === 0) clearInterval(this.#connectTimer);
  }

  /** Returns true if the channel is connected, and makes an idle channel connect. */
  #isConnected(): boolean {
    return this.#client.getChannel().getConnectivityState(true) === connectivityState.READY;
  }

  #unary(method: MethodShape, request: unknown, deadline: number, metadata: Metadata): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const done = (failure: ServiceError | null, response?: unknown) => {
        const error = failure && this.#errorOf(failure);
        this.#handled.inc({ method: method.path, code: error?.code ?? 'OK' });
        if (error) reject(error);
        else resolve(response);
      };
      this.#open(() =>
        this.#client.makeUnaryRequest(
          method.path,
          method.requestSerialize as (message: unknown) => Buffer,
          method.responseDeserialize,
          request,
          metadata,
          { deadline },
          done,
        ),
      );
    });
  }

  #stream(method: MethodShape, request: unknown): ClientReadableStream<unknown> {
    const stream = this.#open(() =>
      this.#client.makeServerStreamRequest(
        method.path,
        method.requestSerialize as (message: unknown) => Buffer,
        method.responseDeserialize,
        request,
        callMetadata(method, this.#options),
      ),
    );
    stream.on('status', (ended: StatusObject) => {
      const code = ended.code === status.OK ? 'OK' : fromStatus(ended).code;
      this.#handled.inc({ method: method.path, code });
    });
    return stream;
  }

  /**
   * Converts a failed gRPC call to an ApiError. A deadline that passed without a connection becomes UNAVAILABLE instead
   * of TIMEOUT, because the service has not received the call.
   */
  #errorOf(failure: ServiceError): ApiError {
    const error = fromStatus(failure);
    const isConnected = this.#client.getChannel().getConnectivityState(false) === connectivityState.READY;
    return error.code === 'TIMEOUT' && !isConnected ? new ApiError('UNAVAILABLE', { cause: failure }) : error;
  }

  /** Starts a gRPC call. Throws UNAVAILABLE if the channel is closed. */
  #open<Call>(call: () => Call): Call {
    try {
      return call();
    } catch (cause) {
      throw new ApiError('UNAVAILABLE', { cause });
    }
  }
}
