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
import { currentPurpose, requestContext } from '../context.ts';
import { ApiError, isFault } from '../errors.ts';
import { PURPOSE_HEADER, REQUEST_ID_HEADER } from '../http/request-id.ts';
import type { Breaker } from '../resilience/breaker.ts';
import { RetryBudget } from '../resilience/retry-budget.ts';
import type { InternalTls } from '../security/internal-tls.ts';
import type { KeyRing } from '../security/keyring.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { CALL_TOKEN_HEADER, sealCall } from './call-token.ts';
import type { DefinitionShape, MethodShape, RequestOf, ResponseOf } from './definition.ts';
import { fromStatus, isAnswer } from './errors.ts';

const DEADLINE_MS = 3_000;
/** Of a health check while the breaker is open. */
const PROBE_MS = 1_000;
/** How often whoever waits for a connection has a name that was not known asked for again. */
const ASK_AGAIN_MS = 250;
/** Of one answer: verdicts on 500 roles of 100 members, each with its reason, take 5 MiB. */
const MOST_BYTES = 16 * 1024 * 1024;

/** A promise for each unary method, a stream for each streaming one. Errors are ApiErrors. */
export type GrpcClient<Definition extends DefinitionShape> = {
  [Name in keyof Definition]: Definition[Name]['responseStream'] extends true
    ? (request: RequestOf<Definition[Name]>) => ClientReadableStream<ResponseOf<Definition[Name]>>
    : (request: RequestOf<Definition[Name]>) => Promise<ResponseOf<Definition[Name]>>;
};

export interface GrpcClientOptions {
  /** The calling process. */
  caller: string;
  /** The called service's name. */
  audience: string;
  /** `host:port` or `dns:///host:port`. */
  address: string;
  /** Makes call tokens; left out for callers that are known by `headers` alone. */
  ring?: KeyRing | undefined;
  clock: Clock;
  metrics: Metrics;
  breaker: Breaker;
  /** Without it calls are not encrypted. */
  tls?: InternalTls | undefined;
  /**
   * Further headers of a call, for those who are no service: operators. What it throws is the error of the call. Only
   * unary methods can be called with it.
   */
  headers?: ((method: MethodShape, request: Buffer) => Promise<Record<string, string>>) | undefined;
  /** How long a call may take; 3 s when left out. */
  deadlineMs?: number;
  /** How much of it may be spent on waiting for a connection; all of it when left out. */
  connectMs?: number;
}

/** What a connection that is lost in the middle of a call, or a server that is forced to stop, makes of it. */
const LOST = [status.UNAVAILABLE, status.CANCELLED];

const SILENT = [...LOST, status.DEADLINE_EXCEEDED];
const HEALTH_CHECK = healthService['Check'] as MethodDefinition<object, object>;

/** Only a service that can't be reached or does not answer has failed; what it answers may be another's failure. */
export function isGrpcFailure(error: unknown): boolean {
  return !(error instanceof ApiError) || (isFault(error) && !isAnswer(error));
}

/** One connection to a service, and its methods as functions. */
export class GrpcChannel {
  readonly #client: Client;
  readonly #options: GrpcClientOptions;
  readonly #handled;
  readonly #repeated;
  readonly #budget = new RetryBudget();
  /** Set when a call has waited in vain for a connection: until there is one, others do not wait. */
  #isAway = false;
  #isClosed = false;
  /** Calls that wait for a connection, and what asks for it meanwhile. */
  #waiting = 0;
  #asking: NodeJS.Timeout | undefined;

  constructor(options: GrpcClientOptions) {
    this.#options = options;
    this.#handled = options.metrics.counter('grpc_client_handled_total', 'Calls made', ['method', 'code']);
    this.#repeated = options.metrics.counter('grpc_client_retries_total', 'Calls made a second time', ['method']);
    const tls = options.tls?.channelTo(options.address);
    this.#client = new Client(options.address, tls?.credentials ?? credentials.createInsecure(), {
      ...tls?.options,
      'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
      // Names are asked for again when a connection is lost. The library's own 30 s are longer than it takes to replace
      // all replicas of a service one after the other: then nobody would be left at the addresses that are known.
      'grpc.dns_min_time_between_resolutions_ms': 500,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
      'grpc.keepalive_time_ms': 10_000,
      'grpc.keepalive_timeout_ms': 2_000,
      'grpc.max_receive_message_length': MOST_BYTES,
    });
    options.breaker.probeWith(() => this.#probe());
  }

  /**
   * The methods of a definition. Those in `repeatable`, which do no more when they are called twice, are called once
   * more when their connection is lost, within the same deadline; a tenth of all calls at most.
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

  /** A health check. Whatever the service responds: only one that cannot be reached or is silent opens the breaker. */
  async #probe(): Promise<void> {
    const { path, requestSerialize, responseDeserialize } = HEALTH_CHECK;
    const metadata = new Metadata({ waitForReady: true });
    const deadline = Date.now() + PROBE_MS;
    await new Promise<void>((resolve, reject) => {
      const done = (error: ServiceError | null) => (error && SILENT.includes(error.code) ? reject(error) : resolve());
      this.#open(() =>
        this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, metadata, { deadline }, done),
      );
    });
    this.#isAway = false;
  }

  async #call(method: MethodShape, request: unknown, isRepeatable: boolean): Promise<unknown> {
    const deadline = Date.now() + (this.#options.deadlineMs ?? DEADLINE_MS);
    this.#budget.called();
    try {
      return await this.#attempt(method, request, deadline);
    } catch (error) {
      if (!isRepeatable || !wasLost(error) || Date.now() >= deadline || !this.#budget.take()) throw error;
      this.#repeated.inc({ method: method.path });
      return this.#attempt(method, request, deadline);
    }
  }

  /** The call once, over a connection that there is soon. */
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
    // The bytes that the headers vouch for are those that are sent.
    const bytes = method.requestSerialize(request as never);
    for (const [name, value] of Object.entries(await headers(method, bytes))) metadata.set(name, value);
    return this.#unary({ ...method, requestSerialize: () => bytes }, request, deadline, metadata);
  }

  /** A service that has just come back is waited for, unless others have done so in vain. */
  async #connected(deadline: number): Promise<void> {
    // Asking for its state would open a closed channel again.
    if (this.#isClosed) throw new ApiError('UNAVAILABLE', { cause: new Error('the channel is closed') });
    if (this.#isConnected()) {
      this.#isAway = false;
      return;
    }
    if (this.#isAway) throw new ApiError('UNAVAILABLE', { cause: new Error(`${this.#options.audience} is away`) });
    this.#beginToWait();
    await new Promise<void>((resolve, reject) => {
      this.#client.waitForReady(deadline, (cause) => {
        this.#endToWait();
        if (!cause) return resolve();
        this.#isAway = true;
        reject(new ApiError('UNAVAILABLE', { cause }));
      });
    });
  }

  /** A name that was not known is asked for again only when somebody wants to connect. */
  #beginToWait(): void {
    if (this.#waiting++ === 0) this.#asking = setInterval(() => this.#isConnected(), ASK_AGAIN_MS).unref();
  }

  #endToWait(): void {
    if (--this.#waiting === 0) clearInterval(this.#asking);
  }

  /** Asking makes a channel that is idle connect. */
  #isConnected(): boolean {
    return this.#client.getChannel().getConnectivityState(true) === connectivityState.READY;
  }

  #unary(method: MethodShape, request: unknown, deadline: number, metadata: Metadata): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const done = (failure: ServiceError | null, response?: unknown) => {
        const error = failure && this.#told(failure);
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

  /** A deadline that passed while nobody could be reached is no time-out of the service. */
  #told(failure: ServiceError): ApiError {
    const error = fromStatus(failure);
    const isConnected = this.#client.getChannel().getConnectivityState(false) === connectivityState.READY;
    return error.code === 'TIMEOUT' && !isConnected ? new ApiError('UNAVAILABLE', { cause: failure }) : error;
  }

  /** A channel that was closed throws an error of its own. */
  #open<Call>(call: () => Call): Call {
    try {
      return call();
    } catch (cause) {
      throw new ApiError('UNAVAILABLE', { cause });
    }
  }

  #metadata(method: MethodShape): Metadata {
    const { ring, caller, audience, clock } = this.#options;
    // A server that has just come back on its port is waited for, within the deadline.
    const metadata = new Metadata({ waitForReady: true });
    if (ring) metadata.set(CALL_TOKEN_HEADER, sealCall(ring, { caller, audience, method: method.path }, clock.now()));
    const context = requestContext.getStore();
    if (context) metadata.set(REQUEST_ID_HEADER, context.requestId);
    const purpose = currentPurpose();
    if (purpose !== 'caller') metadata.set(PURPOSE_HEADER, purpose);
    return metadata;
  }
}

/** Whether nobody knows what became of a call, since its connection was lost. */
function wasLost(error: unknown): boolean {
  if (!(error instanceof ApiError) || isAnswer(error)) return false;
  return LOST.includes((error.cause as Partial<ServiceError> | undefined)?.code as status);
}
