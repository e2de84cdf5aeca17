import { readFileSync } from 'node:fs';
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
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation } from 'grpc-health-check';
import type { Clock } from '../clock.ts';
import { PURPOSE_HEADER, type RequestContext, readPurpose, requestContext, withPurpose } from '../context.ts';
import { asApiError, isServerError } from '../errors.ts';
import { EVENT_SOURCE_HEADER, readEventSource, withEventSource } from '../events/source.ts';
import { REQUEST_ID_HEADER, requestIdOf } from '../http/request-id.ts';
import type { InternalTls } from '../security/internal-tls.ts';
import { hostAndPort, reachableAt } from '../service/address.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Readiness } from '../service/readiness.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type AllowedCallers, CALL_TOKEN_HEADER, verifyCallToken } from './call-token.ts';
import type { DefinitionShape, GrpcHandlers, MethodShape, ResponseStream } from './definition.ts';
import { toStatus } from './errors.ts';
import type { OperatorGuard } from './operators.ts';

const DESCRIPTORS = new URL('../../../proto/gen/descriptors.binpb', import.meta.url);
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
  readonly #options: GrpcServerOptions;
  readonly #handled;
  readonly #seconds;
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
    this.#handled = options.metrics.counter(
      'grpc_server_handled_total',
      'gRPC calls handled, by method and result code',
      ['method', 'code'],
    );
    this.#seconds = options.metrics.duration(
      'grpc_server_handling_seconds',
      'Time from the start of a gRPC call to its end',
      ['method'],
    );
    const health = new HealthImplementation({ '': 'NOT_SERVING' });
    options.readiness.onChange((ready) => health.setStatus('', ready ? 'SERVING' : 'NOT_SERVING'));
    health.addToServer(this.#server);
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
      const described = loadFileDescriptorSetFromBuffer(readFileSync(DESCRIPTORS));
      new ReflectionService(described, { services: [...this.#names] }).addToServer(this.#server);
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
    await this.#observed(path, call, work, (error) => call.emit('error', error));
  }

  async #observed(
    path: string,
    call: AnyCall,
    work: () => Promise<void>,
    fail: (error: Partial<StatusObject>) => void,
  ): Promise<void> {
    const [given] = call.metadata.get(REQUEST_ID_HEADER);
    const [purpose] = call.metadata.get(PURPOSE_HEADER);
    const context: RequestContext = { requestId: requestIdOf(given?.toString()), route: path };
    const guildId = guildOf(call.request);
    if (guildId !== undefined) context.guildId = guildId;
    const elapsed = this.#seconds.startTimer({ method: path });
    const code = await requestContext.run(context, async () => {
      try {
        // An operator's call has the operator as its source, whatever its headers say.
        const headers = this.#guards.has(path) ? [] : call.metadata.get(EVENT_SOURCE_HEADER);
        const source = readEventSource(headers[0]?.toString());
        await withPurpose(readPurpose(purpose?.toString()), () => (source ? withEventSource(source, work) : work()));
        return 'OK';
      } catch (thrown) {
        const error = asApiError(thrown);
        if (isServerError(error)) this.#options.log.error({ err: error }, 'gRPC call failed');
        fail(toStatus(error));
        return error.code;
      }
    });
    elapsed();
    this.#handled.inc({ method: path, code });
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
    if (!isAdmitted) this.#handled.inc({ method: path, code: 'UNAUTHENTICATED' });
    return Boolean(isAdmitted);
  }
}

/** Returns the guild ID of a gRPC request. All messages about a single guild have the ID in the field `guildId`. */
function guildOf(message: unknown): string | undefined {
  const guildId = (message as { guildId?: unknown } | undefined)?.guildId;
  return typeof guildId === 'string' ? guildId : undefined;
}
const headersOf = (metadata: Metadata) => (name: string) => metadata.get(name)[0]?.toString();

type AnyCall = ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>;
type Handler = (request: unknown, stream?: ResponseStream<unknown>) => Promise<unknown>;

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError';

const UNAUTHENTICATED = { code: status.UNAUTHENTICATED, details: 'a valid call token is required' };
