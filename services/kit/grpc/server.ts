import { performance } from 'node:perf_hooks';
import {
  type Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type StatusObject,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Clock } from '../clock.ts';
import { requestContext, withPurpose } from '../context.ts';
import { asApiError, isServerError } from '../errors.ts';
import { readEventSource, withEventSource } from '../events/source.ts';
import type { InternalTls } from '../security/internal-tls.ts';
import { hostAndPort, reachableAt } from '../service/address.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Readiness } from '../service/readiness.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { failureOf } from '../telemetry/tracing/span.ts';
import type { Tracer } from '../telemetry/tracing/tracer.ts';
import { type AnyCall, contextOf, describeCall, headersOf, purposeOf, startSpan } from './call-context.ts';
import { CallMetrics } from './call-metrics.ts';
import { type AllowedCallers, CALL_TOKEN_HEADER, verifyCallToken } from './call-token.ts';
import type { DefinitionShape, GrpcHandlers, MethodShape, ResponseStream } from './definition.ts';
import { toStatus } from './errors.ts';
import { Health } from './health.ts';
import type { OperatorGuard } from './operators.ts';
import { addressIn } from './peer.ts';

/** How long, in milliseconds, a drain waits for gRPC calls in flight. */
const DRAIN_MS = 10_000;

/**
 * The maximum age of a gRPC connection in milliseconds, so that a new replica has its share of the calls within 30 s.
 */
const CONNECTION_AGE_MS = 15_000;
/** How long, in milliseconds, calls may continue on a connection that has reached its maximum age. Only streams do. */
const CONNECTION_GRACE_MS = 95_000;

export interface GrpcServerOptions {
  /** The name of the service that is served; call tokens must be issued for it. */
  service: string;
  host: string;
  port: number;
  reflection: boolean;
  readiness: Readiness;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
  tracer?: Tracer | undefined;
  /** The TLS certificates of this process; without them connections are not encrypted. */
  tls?: InternalTls | undefined;
  /** The age in milliseconds at which a connection is closed, so that its caller reconnects; 15 s if left out. */
  connectionAgeMs?: number;
}

/** A gRPC server with health checks and reflection; every other call needs a call token. */
export class GrpcServer implements Part {
  readonly name = 'grpc';
  readonly #server: Server;
  /** The processes that may call a method, by method path. */
  readonly #callers = new Map<string, AllowedCallers>();
  /** The guards that authorise operators' calls, by method path. */
  readonly #guards = new Map<string, OperatorGuard>();
  /** The full names of the gRPC services that were added. */
  readonly #names = new Set<string>();
  readonly #draining = new AbortController();
  readonly #health = new Health();
  readonly #options: GrpcServerOptions;
  readonly #metrics;
  #port = 0;

  constructor(options: GrpcServerOptions) {
    this.#options = options;
    this.#server = new Server({
      // Calls are authenticated before any message is read, so that unauthenticated messages are never parsed.
      interceptors: [({ path }, call) => this.#authenticating(path, call)],
      // Connections have a maximum age: callers then reconnect and find new replicas. gRPC adds 10 % of jitter.
      'grpc.max_connection_age_ms': options.connectionAgeMs ?? CONNECTION_AGE_MS,
      'grpc.max_connection_age_grace_ms': CONNECTION_GRACE_MS,
      'grpc.max_receive_message_length': 1024 * 1024,
      // Keepalive pings detect a caller whose machine is lost, so that its streams end.
      'grpc.keepalive_time_ms': 10_000,
      'grpc.keepalive_timeout_ms': 5_000,
    });
    this.#metrics = new CallMetrics(options.metrics);
    options.readiness.onChange((ready) => this.#health.setServing(ready));
    this.#health.addTo(this.#server);
  }

  /** The address of the gRPC server as `host:port`; known after `start`. */
  get address(): string {
    return reachableAt(this.#options.host, this.#port);
  }

  /** Adds a gRPC service; only `callers` may call its methods. */
  add<Definition extends DefinitionShape>(
    definition: Definition,
    handlers: GrpcHandlers<Definition>,
    callers: AllowedCallers,
  ): void {
    const implementation: UntypedServiceImplementation = {};
    for (const [name, method] of Object.entries(definition)) {
      const handler = handlers[name] as Handler;
      this.#metrics.add(method.path);
      this.#callers.set(method.path, callers);
      this.#names.add(method.path.split('/')[1] as string);
      implementation[name] = method.responseStream
        ? (call: ServerWritableStream<unknown, unknown>) => void this.#stream(method.path, handler, call)
        : (call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>) =>
            void this.#unary(method.path, handler, call, callback);
    }
    this.#server.addService(definition as unknown as ServiceDefinition, implementation);
  }

  /**
   * Adds a gRPC service that operators call; its methods must not stream. Calls of operators are authorised only here:
   * a request is not parsed before `guard` has allowed the call. Handlers find the operator in the request context.
   */
  addForOperators<Definition extends DefinitionShape>(
    definition: Definition,
    handlers: GrpcHandlers<Definition>,
    guard: OperatorGuard,
  ): void {
    const implementation: UntypedServiceImplementation = {};
    const raw: Record<string, unknown> = {};
    for (const [name, method] of Object.entries(definition)) {
      const handler = handlers[name] as Handler;
      this.#metrics.add(method.path);
      this.#guards.set(method.path, guard);
      this.#names.add(method.path.split('/')[1] as string);
      // Requests stay serialized until the guard has checked them, because a ticket is issued for exactly these bytes.
      raw[name] = { ...method, requestDeserialize: (bytes: Buffer) => bytes };
      implementation[name] = (call: ServerUnaryCall<Buffer, unknown>, callback: sendUnaryData<unknown>) =>
        void this.#guarded(method, handler, guard, call, callback);
    }
    this.#server.addService(raw as unknown as ServiceDefinition, implementation);
  }

  async start(): Promise<void> {
    const { host, port, reflection } = this.#options;
    if (reflection) {
      // Loaded only if it is asked for, because it needs a parser of the protocol, which takes time and memory.
      const { addReflection } = await import('./reflection.ts');
      addReflection(this.#server, [...this.#names]);
    }
    const credentials = this.#options.tls?.serverCredentials() ?? ServerCredentials.createInsecure();
    this.#port = await new Promise((resolve, reject) => {
      this.#server.bindAsync(hostAndPort(host, port), credentials, (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
  }

  async drain(): Promise<void> {
    this.#draining.abort();
    this.#health.end();
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, DRAIN_MS);
      this.#server.tryShutdown(() => {
        clearTimeout(late);
        resolve();
      });
    });
  }

  async stop(): Promise<void> {
    this.#server.forceShutdown();
  }

  async #unary(
    path: string,
    handler: Handler,
    call: ServerUnaryCall<unknown, unknown>,
    callback: sendUnaryData<unknown>,
  ): Promise<void> {
    await this.#observed(path, call, async () => callback(null, await handler(call.request)), callback);
  }

  async #guarded(
    method: MethodShape,
    handler: Handler,
    guard: OperatorGuard,
    call: ServerUnaryCall<Buffer, unknown>,
    callback: sendUnaryData<unknown>,
  ): Promise<void> {
    const { service, clock } = this.#options;
    const called = { service, method: method.path };
    const work = async () => {
      const operator = await guard.authorise(called, headersOf(call.metadata), call.request, clock.now());
      const context = requestContext.getStore();
      if (context) context.operator = operator;
      callback(null, await handler(method.requestDeserialize(call.request)));
    };
    await this.#observed(method.path, call, work, callback);
  }

  async #stream(path: string, handler: Handler, call: ServerWritableStream<unknown, unknown>): Promise<void> {
    const cancelled = new AbortController();
    call.on('cancelled', () => cancelled.abort());
    const stream = {
      write: (message: unknown) => void call.write(message),
      get waiting() {
        return call.writableLength;
      },
      signal: AbortSignal.any([cancelled.signal, this.#draining.signal]),
    };
    const work = async () => {
      await handler(call.request, stream).catch((error: unknown) => {
        // A handler that waits with the stream's signal gets an AbortError when the signal is aborted: the stream ends
        // normally.
        if (!stream.signal.aborted || !isAbort(error)) throw error;
      });
      call.end();
    };
    await this.#observed(path, call, work, (error) => call.emit('error', error), 'stream');
  }

  async #observed(
    path: string,
    call: AnyCall,
    work: () => Promise<void>,
    fail: (error: Partial<StatusObject>) => void,
    kind: 'unary' | 'stream' = 'unary',
  ): Promise<void> {
    const context = contextOf(path, call);
    if (this.#guards.has(path)) context.address = addressIn(call.getPeer());
    // Streams have no span, because they last for hours.
    const span = kind === 'unary' ? startSpan(this.#options.tracer, call) : undefined;
    context.span = span;
    const started = performance.now();
    const error = await requestContext.run(context, async () => {
      try {
        // An operator's call has the operator as its source, whatever its headers say.
        const source = this.#guards.has(path) ? undefined : readEventSource(headersOf(call.metadata));
        await withPurpose(purposeOf(call), () => (source ? withEventSource(source, work) : work()));
        return undefined;
      } catch (thrown) {
        const error = asApiError(thrown);
        if (isServerError(error)) this.#options.log.error({ err: error }, 'gRPC call failed');
        fail(toStatus(error));
        return error;
      }
    });
    const code = error?.code ?? 'OK';
    this.#metrics.handled({ method: path, code, seconds: (performance.now() - started) / 1000, span });
    span?.end(error && failureOf(error), () => describeCall(path));
  }

  #authenticating(path: string, call: ServerInterceptingCallInterface): ServerInterceptingCall {
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => {
            if (this.#admits(path, metadata)) proceed(metadata);
            else call.sendStatus(UNAUTHENTICATED);
          },
        }),
    });
  }

  /** True if the headers authenticate the call. Health checks and reflection need no call token. */
  #admits(path: string, metadata: Metadata): boolean {
    const { service, clock } = this.#options;
    const [guard, callers] = [this.#guards.get(path), this.#callers.get(path)];
    const headers = headersOf(metadata);
    const token = headers(CALL_TOKEN_HEADER);
    const isAdmitted = guard
      ? guard.admits({ service, method: path }, headers, clock.now())
      : !callers ||
        (token && verifyCallToken(callers, token, { audience: service, method: path }, clock.now()) !== undefined);
    if (!isAdmitted) this.#metrics.rejected(path, 'UNAUTHENTICATED');
    return Boolean(isAdmitted);
  }
}

type Handler = (request: unknown, stream?: ResponseStream<unknown>) => Promise<unknown>;

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError';

const UNAUTHENTICATED = { code: status.UNAUTHENTICATED, details: 'a valid call token is required' };
