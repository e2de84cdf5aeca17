import {
  Client,
  type ClientReadableStream,
  connectivityState,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
  type StatusObject,
  status,
} from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import type { Clock } from '../clock.ts';
import { currentPurpose, PURPOSE_HEADER, requestContext } from '../context.ts';
import { ApiError, isServerError } from '../errors.ts';
import { currentEventSource, EVENT_SOURCE_HEADER, formatEventSource } from '../events/source.ts';
import { REQUEST_ID_HEADER } from '../http/request-id.ts';
import type { Breaker } from '../resilience/breaker.ts';
import { RetryBudget } from '../resilience/retry-budget.ts';
import type { InternalTls } from '../security/internal-tls.ts';
import type { KeyRing } from '../security/keyring.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { CALL_TOKEN_HEADER, createCallToken } from './call-token.ts';
import type { DefinitionShape, MethodShape, RequestOf, ResponseOf } from './definition.ts';
import { fromStatus, isServiceError } from './errors.ts';

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

/** The gRPC statuses of a call whose connection was lost, or whose server was forced to stop. */
const LOST = [status.UNAVAILABLE, status.CANCELLED];
/** The gRPC statuses of a call that got no response from the service. */
const NO_RESPONSE = [...LOST, status.DEADLINE_EXCEEDED];
const HEALTH_CHECK = healthService['Check'] as MethodDefinition<object, object>;

/** True if the called service could not be reached or did not respond; false for an error that the service returned. */
export function isGrpcFailure(error: unknown): boolean {
  return !(error instanceof ApiError) || (isServerError(error) && !isServiceError(error));
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
    this.#retried = options.metrics.counter('grpc_client_retries_total', 'gRPC calls retried after a lost connection', [
      'method',
    ]);
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
   * the connection is lost, within the same deadline. At most a tenth of all calls are retried.
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
    const { path, requestSerialize, responseDeserialize } = HEALTH_CHECK;
    const metadata = new Metadata({ waitForReady: true });
    const deadline = Date.now() + PROBE_MS;
    await new Promise<void>((resolve, reject) => {
      const done = (error: ServiceError | null) =>
        error && NO_RESPONSE.includes(error.code) ? reject(error) : resolve();
      this.#open(() =>
        this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, metadata, { deadline }, done),
      );
    });
    this.#isUnreachable = false;
  }

  async #call(method: MethodShape, request: unknown, isRepeatable: boolean): Promise<unknown> {
    const deadline = Date.now() + (this.#options.deadlineMs ?? DEADLINE_MS);
    this.#budget.called();
    try {
      return await this.#attempt(method, request, deadline);
    } catch (error) {
      if (!isRepeatable || !wasLost(error) || Date.now() >= deadline || !this.#budget.take()) throw error;
      this.#retried.inc({ method: method.path });
      return this.#attempt(method, request, deadline);
    }
  }

  /** Waits for a connection and makes the call, without retries. */
  async #attempt(method: MethodShape, request: unknown, deadline: number): Promise<unknown> {
    try {
      await this.#connected(Math.min(Date.now() + (this.#options.connectMs ?? Number.POSITIVE_INFINITY), deadline));
    } catch (error) {
      this.#handled.inc({ method: method.path, code: 'UNAVAILABLE' });
      throw error;
    }
    const { headers } = this.#options;
    const metadata = this.#metadata(method);
    if (!headers) return this.#unary(method, request, deadline, metadata);
    // The request is serialized once, because the headers contain a signature of exactly these bytes.
    const bytes = method.requestSerialize(request as never);
    for (const [name, value] of Object.entries(await headers(method, bytes))) metadata.set(name, value);
    return this.#unary({ ...method, requestSerialize: () => bytes }, request, deadline, metadata);
  }

  /** Waits for a connection. Throws UNAVAILABLE immediately if an earlier call has already waited without success. */
  async #connected(deadline: number): Promise<void> {
    // The state of a closed channel is not read, because getConnectivityState would open the channel again.
    if (this.#isClosed) throw new ApiError('UNAVAILABLE', { cause: new Error('the channel is closed') });
    if (this.#isConnected()) {
      this.#isUnreachable = false;
      return;
    }
    if (this.#isUnreachable)
      throw new ApiError('UNAVAILABLE', { cause: new Error(`${this.#options.audience} is unreachable`) });
    this.#startWaiting();
    await new Promise<void>((resolve, reject) => {
      this.#client.waitForReady(deadline, (cause) => {
        this.#stopWaiting();
        if (!cause) return resolve();
        this.#isUnreachable = true;
        reject(new ApiError('UNAVAILABLE', { cause }));
      });
    });
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
        this.#metadata(method),
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

  #metadata(method: MethodShape): Metadata {
    const { ring, caller, audience, clock } = this.#options;
    // With waitForReady a call waits, within its deadline, for a server that is restarting.
    const metadata = new Metadata({ waitForReady: true });
    if (ring)
      metadata.set(CALL_TOKEN_HEADER, createCallToken(ring, { caller, audience, method: method.path }, clock.now()));
    const context = requestContext.getStore();
    if (context) metadata.set(REQUEST_ID_HEADER, context.requestId);
    const purpose = currentPurpose();
    if (purpose !== 'caller') metadata.set(PURPOSE_HEADER, purpose);
    const source = currentEventSource();
    if (source) metadata.set(EVENT_SOURCE_HEADER, formatEventSource(source));
    return metadata;
  }
}

/** True if the result of a gRPC call is unknown because its connection was lost. */
function wasLost(error: unknown): boolean {
  if (!(error instanceof ApiError) || isServiceError(error)) return false;
  return LOST.includes((error.cause as Partial<ServiceError> | undefined)?.code as status);
}
