import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { systemClock } from '#kit/clock.ts';
import type { ApiError } from '#kit/errors.ts';
import { sealCall } from '#kit/grpc/call-token.ts';
import { GrpcChannel, type GrpcClient, isGrpcFailure } from '#kit/grpc/client.ts';
import type { DefinitionShape, MethodShape } from '#kit/grpc/definition.ts';
import { isAnswer } from '#kit/grpc/errors.ts';
import {
  type Credential,
  digestOf,
  OPERATOR_HEADER,
  readCredential,
  signCall,
  TICKET_HEADER,
} from '#kit/grpc/operators.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { InternalTls } from '#kit/security/internal-tls.ts';
import { type KeyRing, SecretRing } from '#kit/security/keyring.ts';
import type { Roots } from '#kit/security/process-keys.ts';
import { callPurpose, OPERATORS } from '#kit/security/purposes.ts';
import {
  ConfigError,
  type Environment,
  grpcAddress,
  processKeys,
  readConfig,
  readRoots,
  secrets,
} from '#kit/service/config.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import { UsageError } from './command.ts';

/** The name of a service that has just become ready can be unknown to a cluster for five seconds. */
const DEADLINE_MS = 8_000;

const AUTH = 'auth';
/** Tickets are good for 30 s. */
const TICKET_REUSED_MS = 20_000;
const MAX_TICKETS = 1_000;

/** Why a service can't be reached, in words that say what to do. */
export class ConnectionError extends Error {}

/** The services that a command may call, connected when they are first needed. */
export class Connections {
  readonly #environment: Environment;
  readonly #breakers: Breakers;
  readonly #metrics = new Metrics();
  /** By service. */
  readonly #open = new Map<string, GrpcChannel>();
  /** Where the services speak TLS: the same variables as theirs, with a certificate for operators. */
  readonly #tls: InternalTls | undefined;

  /** What the operator notes beside a change of another service. */
  note = '';
  /** What auth allowed, by call: a command that repeats a call, as erasing does, needs one entry in the audit. */
  readonly #tickets = new Map<string, { ticket: string; at: number }>();

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#breakers = new Breakers(this.#metrics);
    this.#tls = InternalTls.from(environment, { metrics: this.#metrics, log: undefined });
  }

  /** The methods of a service as an administrator calls them. */
  admin<Definition extends DefinitionShape>(definition: Definition, service: string): GrpcClient<Definition> {
    const channel = this.#open.get(service) ?? this.#connect(service);
    this.#open.set(service, channel);
    return channel.methods(definition);
  }

  #connect(service: string): GrpcChannel {
    const address = readAddress(this.#environment, service);
    const identity = service === AUTH ? readIdentity(this.#environment) : undefined;
    const { credential, ring } = identity ?? {};
    const signed = credential && ((method: MethodShape, request: Buffer) => signature(credential, method, request));
    return new GrpcChannel({
      caller: OPERATORS,
      audience: service,
      address,
      ring,
      headers: identity ? signed : (method, request) => this.#ticket(service, method, request),
      clock: systemClock,
      metrics: this.#metrics,
      breaker: this.#breakers.create(service, isGrpcFailure),
      deadlineMs: DEADLINE_MS,
      tls: this.#tls,
    });
  }

  /** Auth decides whether the operator may make this call, and writes it into the audit, before it is made. */
  async #ticket(service: string, { path: method }: MethodShape, request: Buffer): Promise<Record<string, string>> {
    const name = `${service} ${method} ${digestOf(request)}`;
    const known = this.#tickets.get(name);
    if (known && Date.now() - known.at < TICKET_REUSED_MS) return { [TICKET_HEADER]: known.ticket };
    const auth = this.admin(OperatorAdminServiceService, AUTH);
    const at = Date.now();
    const { ticket } = await auth.authorize({ service, method, request, note: this.note });
    if (this.#tickets.size >= MAX_TICKETS) this.#tickets.clear();
    this.#tickets.set(name, { ticket, at });
    return { [TICKET_HEADER]: ticket };
  }

  /** Every process, with the address of its metrics; see `--admin` of `top`. */
  processes(given: readonly string[]): Process[] {
    return readProcesses(this.#environment, given);
  }

  /** A token with which a process shows operators a page of its admin port; undefined without the operators' keys. */
  pageToken(process: string, path: string): string | undefined {
    try {
      const ring = readOperators(this.#environment, process);
      return sealCall(ring, { caller: OPERATORS, audience: process, method: `GET ${path}` }, systemClock.now());
    } catch {
      return undefined;
    }
  }

  /** The root secrets of INTERNAL_SECRETS and ADMIN_SECRETS; throws a ConfigError that lists every fault. */
  roots(): Roots {
    return readRoots(this.#environment);
  }

  close(): void {
    for (const channel of this.#open.values()) channel.close();
    this.#breakers.stop();
  }
}

function signature(credential: Credential, { path: method }: MethodShape, request: Buffer) {
  const call = { service: AUTH, method, digest: digestOf(request) };
  return Promise.resolve({ [OPERATOR_HEADER]: signCall(credential, call, systemClock.now()) });
}

/** GUILDCTL_<SERVICE>; when left out, the address of the system that `npm start` runs here. */
export function readAddress(environment: Environment, service: string): string {
  const variable = `GUILDCTL_${service.toUpperCase()}`;
  readConfig({ [variable]: grpcAddress().optional(), ...OPERATORS_CONFIG }, environment);
  return environment[variable] || localAddress(dataFolder(environment), service, variable);
}

/** Who calls auth: a named operator, or with the operators' keys root. */
type Identity = { credential: Credential; ring?: undefined } | { credential?: undefined; ring: KeyRing };

/**
 * OPERATOR_CREDENTIAL, else the keys of the environment, else the file `secrets/operator` of DATA_DIR, else the secret of
 * the system that runs here.
 */
export function readIdentity(environment: Environment): Identity {
  const given = environment['OPERATOR_CREDENTIAL']?.trim();
  if (given) return { credential: parseCredential(given, 'OPERATOR_CREDENTIAL') };
  const { INTERNAL_KEYS, ADMIN_SECRETS } = readConfig(OPERATORS_CONFIG, environment);
  const path = join(dataFolder(environment), 'secrets', 'operator');
  if (!INTERNAL_KEYS && !ADMIN_SECRETS && existsSync(path)) {
    return { credential: parseCredential(readFileSync(path, 'utf8').trim(), path) };
  }
  return { ring: readOperators(environment, AUTH) };
}

function parseCredential(text: string, source: string): Credential {
  const credential = readCredential(text);
  if (!credential) throw new ConnectionError(`${source} holds no credential as \`operators add\` prints it`);
  return credential;
}

const OPERATORS_CONFIG = { INTERNAL_KEYS: processKeys().optional(), ADMIN_SECRETS: secrets().optional() };

/** INTERNAL_KEYS of guildctl, else what is derived from ADMIN_SECRETS, else from the secret of the system that runs here. */
function readOperators(environment: Environment, service: string): KeyRing {
  const { INTERNAL_KEYS, ADMIN_SECRETS } = readConfig(OPERATORS_CONFIG, environment);
  const purpose = callPurpose(OPERATORS, service);
  if (INTERNAL_KEYS && !INTERNAL_KEYS.purposes.includes(purpose)) {
    throw new ConfigError([`INTERNAL_KEYS has no key for ${purpose}: give guildctl its own`]);
  }
  return INTERNAL_KEYS ?? new SecretRing(ADMIN_SECRETS ?? [localAdminSecret(dataFolder(environment))]);
}

function dataFolder(environment: Environment): string {
  const given = environment['DATA_DIR'];
  return given ? resolve(given) : join(import.meta.dirname, '..', '..', '.data');
}

const upFile = z.object({
  pid: z.number(),
  services: z.record(z.string(), z.object({ grpc: z.string().nullish(), admin: z.string().nullish() })),
});

/** A process, and where its metrics are. */
export interface Process {
  name: string;
  /** Without a trailing slash; a host with a name stands for every replica. */
  url: string;
}

const PROCESS = /^([a-z][a-z0-9-]{0,30})=(?:http:\/\/)?([^\s/@]+:[0-9]{1,5})\/?$/;

/** The processes given as `name=host:port`, else in GUILDCTL_ADMIN, else those of the system that runs here. */
function readProcesses(environment: Environment, given: readonly string[]): Process[] {
  const inEnvironment = (environment['GUILDCTL_ADMIN'] ?? '').split(',').filter(Boolean);
  const told = given.length > 0 ? given : inEnvironment;
  if (told.length > 0) return told.map(readProcess);
  const up = readUp(dataFolder(environment), 'the system', 'GUILDCTL_ADMIN or --admin');
  return Object.entries(up.services).flatMap(([name, { admin }]) => (admin ? [{ name, url: admin }] : []));
}

function readProcess(text: string): Process {
  const [, name, address] = PROCESS.exec(text.trim()) ?? [];
  if (!name || !address || !URL.canParse(`http://${address}`))
    throw new UsageError(['--admin and GUILDCTL_ADMIN take NAME=HOST:PORT']);
  return { name, url: `http://${address}` };
}

/** The address in `up.json`. */
function localAddress(folder: string, service: string, variable: string): string {
  const address = readUp(folder, service, `${variable} and ADMIN_SECRETS`).services[service]?.grpc;
  if (!address) throw new ConnectionError(`${join(folder, 'up.json')} names no address of ${service}: set ${variable}`);
  return address;
}

/** `up.json`, which is there only while the system runs, or after it was killed. */
function readUp(folder: string, what: string, variables: string): z.output<typeof upFile> {
  const path = join(folder, 'up.json');
  const hint = `start it with \`npm start\`, or set ${variables} to reach one that runs elsewhere`;
  if (!existsSync(path)) throw new ConnectionError(`${what} is not running here: ${hint}`);
  const up = upFile.safeParse(JSON.parse(readFileSync(path, 'utf8')));
  if (!up.success) throw new ConnectionError(`${path} is not what \`npm start\` writes`);
  if (!isAlive(up.data.pid)) throw new ConnectionError(`${what} is no longer running here: ${hint}`);
  return up.data;
}

/** The secret that `npm start` makes for administrators. */
function localAdminSecret(folder: string): string {
  const path = join(folder, 'secrets', 'admin');
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new ConnectionError(`The administrators' secret can not be read (${code}, ${path}): set ADMIN_SECRETS`);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process is alive too.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** gRPC's own codes. */
const UNAUTHENTICATED = 16;
const DEADLINE_EXCEEDED = 4;

/** What an error of a call means to whoever typed the command. */
export function explain(error: ApiError): string {
  const cause = error.cause as { code?: unknown } | undefined;
  if (cause?.code === UNAUTHENTICATED) {
    return 'The service refused the credential: ADMIN_SECRETS or OPERATOR_CREDENTIAL is not of this installation, or the clocks differ by more than 30 s';
  }
  if (cause?.code === DEADLINE_EXCEEDED) {
    const seconds = DEADLINE_MS / 1000;
    return `The service did not answer within ${seconds} s: is it running? What was asked may still have been done`;
  }
  if (error.code === 'UNAVAILABLE') {
    return isAnswer(error)
      ? 'The service can not do this now: its database may be down. Try again soon'
      : 'The service can not be reached: is it running, and does GUILDCTL_<SERVICE> hold its address?';
  }
  return error.message;
}
