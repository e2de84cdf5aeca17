import { systemClock } from '#kit/clock.ts';
import { createCallToken } from '#kit/grpc/call-token.ts';
import { GrpcChannel, type GrpcClient, isGrpcFailure } from '#kit/grpc/client.ts';
import type { DefinitionShape, MethodShape } from '#kit/grpc/definition.ts';
import { type Credential, digestOf, OPERATOR_HEADER, signCall, TICKET_HEADER } from '#kit/grpc/operators.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { InternalTls } from '#kit/security/internal-tls.ts';
import type { Roots } from '#kit/security/process-keys.ts';
import { OPERATORS } from '#kit/security/purposes.ts';
import type { Environment } from '#kit/service/config.ts';
import { readRoots } from '#kit/service/root-secrets.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import { type Process, readAddress, readIdentity, readOperatorKeys, readProcesses } from './access.ts';
import { DEADLINE_MS } from './deadline.ts';

const AUTH = 'auth';
/** How long, in milliseconds, a ticket is reused; tickets are valid for 30 s. */
const TICKET_REUSE_MS = 20_000;
const MAX_TICKETS = 1_000;

export interface ConnectionsOptions {
  environment: Environment;
  /**
   * The operator's note, which the auth service writes into the audit with each change of another service; empty for
   * none.
   */
  note: string;
}

/** gRPC connections to the services, each of which is opened when it is first used. */
export class Connections {
  readonly environment: Environment;
  readonly #note: string;
  readonly #breakers: Breakers;
  readonly #metrics = new Metrics();
  /** The open gRPC channels, by service. */
  readonly #channels = new Map<string, GrpcChannel>();
  /**
   * The TLS settings for calls to the services, with an operator's client certificate. They are read from the same
   * environment variables as in the services; undefined without TLS.
   */
  readonly #tls: InternalTls | undefined;
  /**
   * The tickets of recent calls, by service, method and request. They are reused so that a repeated call, as in an
   * erasure, has one entry in the audit.
   */
  readonly #tickets = new Map<string, { ticket: string; requestedAt: number }>();

  constructor({ environment, note }: ConnectionsOptions) {
    this.environment = environment;
    this.#note = note;
    this.#breakers = new Breakers(this.#metrics);
    this.#tls = InternalTls.from(environment, { metrics: this.#metrics, log: undefined });
  }

  /** Returns a gRPC client for the administrative methods of a service. */
  admin<Definition extends DefinitionShape>(definition: Definition, service: string): GrpcClient<Definition> {
    const channel = this.#channels.get(service) ?? this.#connect(service);
    this.#channels.set(service, channel);
    return channel.methods(definition);
  }

  #connect(service: string): GrpcChannel {
    const address = readAddress(this.environment, service);
    const identity = service === AUTH ? readIdentity(this.environment, AUTH) : undefined;
    const credential = identity?.credential;
    const sign = credential && ((method: MethodShape, request: Buffer) => signature(credential, method, request));
    const requestTicket = (method: MethodShape, request: Buffer) => this.#ticket(service, method, request);
    return new GrpcChannel({
      caller: OPERATORS,
      audience: service,
      address,
      ring: identity?.ring,
      headers: service === AUTH ? sign : requestTicket,
      clock: systemClock,
      metrics: this.#metrics,
      breaker: this.#breakers.create(service, isGrpcFailure),
      deadlineMs: DEADLINE_MS,
      tls: this.#tls,
    });
  }

  /**
   * Returns a ticket for a call, from the auth service or from an identical recent call. Before auth issues a ticket,
   * it checks the operator's role and writes the call into the audit.
   */
  async #ticket(service: string, { path: method }: MethodShape, request: Buffer): Promise<Record<string, string>> {
    const call = `${service} ${method} ${digestOf(request)}`;
    const cached = this.#tickets.get(call);
    if (cached && Date.now() - cached.requestedAt < TICKET_REUSE_MS) return { [TICKET_HEADER]: cached.ticket };
    const auth = this.admin(OperatorAdminServiceService, AUTH);
    const requestedAt = Date.now();
    const { ticket } = await auth.authorize({ service, method, request, note: this.#note });
    if (this.#tickets.size >= MAX_TICKETS) this.#tickets.clear();
    this.#tickets.set(call, { ticket, requestedAt });
    return { [TICKET_HEADER]: ticket };
  }

  /**
   * Returns all processes, with the addresses of their metrics; `given` are the values of the option `--admin` of
   * `guildctl top`.
   */
  processes(given: readonly string[]): Process[] {
    return readProcesses(this.environment, given);
  }

  /**
   * Returns a token that lets operators read a page of a process's admin port; undefined without the operators' keys.
   */
  pageToken(process: string, path: string): string | undefined {
    try {
      const ring = readOperatorKeys(this.environment, process);
      return createCallToken(ring, { caller: OPERATORS, audience: process, method: `GET ${path}` }, systemClock.now());
    } catch {
      return undefined;
    }
  }

  /** Returns the root secrets in INTERNAL_SECRETS and ADMIN_SECRETS; throws a ConfigError that lists every fault. */
  roots(): Roots {
    return readRoots(this.environment);
  }

  close(): void {
    for (const channel of this.#channels.values()) channel.close();
    this.#breakers.stop();
  }
}

async function signature(credential: Credential, { path: method }: MethodShape, request: Buffer) {
  const call = { service: AUTH, method, digest: digestOf(request) };
  return { [OPERATOR_HEADER]: signCall(credential, call, systemClock.now()) };
}
