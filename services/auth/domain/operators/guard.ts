import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { type AllowedCallers, CALL_TOKEN_HEADER, openCall } from '#kit/grpc/call-token.ts';
import {
  type CalledMethod,
  digestOf,
  type Headers,
  OPERATOR_HEADER,
  type OperatorGuard,
  ROOT,
  readCall,
} from '#kit/grpc/operators.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { appendEntries } from '../../store/audit.ts';
import { selectActive } from '../../store/operators.ts';
import type { AuthEvents } from '../../telemetry.ts';
import { describeRequest } from './request-details.ts';
import { type AdminMethod, adminMethod, includesRole, type Role } from './roles.ts';

export interface AuthorityOptions {
  database: Database;
  /** Whoever calls with the key of operators, which is derived from ADMIN_SECRETS, is root. */
  root: AllowedCallers;
  clock: Clock;
  events: AuthEvents;
}

/** Authenticates operators, decides what they may do, and writes it into the audit before they do it. */
export class Authority implements OperatorGuard {
  readonly #options: AuthorityOptions;

  constructor(options: AuthorityOptions) {
    this.#options = options;
  }

  admits(called: CalledMethod, headers: Headers, now: number): boolean {
    return this.#isRoot(called, headers, now) || readCall(called, headers(OPERATOR_HEADER), now) !== undefined;
  }

  /** For the methods of auth itself. */
  async authorise(called: CalledMethod, headers: Headers, request: Buffer, now: number): Promise<string> {
    const operator = this.#isRoot(called, headers, now)
      ? ROOT
      : await this.#authenticate(called, headers(OPERATOR_HEADER), request, now);
    await this.allow(operator, called, request, '');
    return operator;
  }

  /**
   * Decides whether an operator may make a call, and commits its entry in the audit where it changes something.
   * MISSING_SCOPE when the role does not include it, NOT_FOUND when operators cannot call it.
   */
  async allow(operator: string, called: CalledMethod, request: Buffer, note: string): Promise<void> {
    const method = adminMethod(called.service, called.method);
    if (!method) throw new ApiError('NOT_FOUND', { message: `auth knows no method ${called.method} for operators` });
    const role = await this.#roleOf(operator);
    if (!role) throw unauthenticated();
    if (!includesRole(role, method.role)) {
      this.#options.events.operatorRefused(operator, called.method);
      const message = `The operator ${operator} has the role ${role}, and this needs ${method.role}`;
      throw new ApiError('MISSING_SCOPE', { message });
    }
    if (method.audited === 'before') await this.#record(operator, called, method, request, note);
  }

  async #record(operator: string, called: CalledMethod, method: AdminMethod, request: Buffer, note: string) {
    const decoded = decode(method, request);
    if ((decoded as { dryRun?: unknown }).dryRun === true) return;
    const digest = digestOf(request);
    const { guildId, details } = describeRequest(decoded, digest);
    const said = method.isAnonymous ? {} : details;
    const entry = { at: new Date(this.#options.clock.now()), actor: operator, action: method.name, ...called };
    const withNote = note === '' ? said : { ...said, note };
    await appendEntries(this.#options.database, guildId, [null], { ...entry, details: withNote });
    this.#options.events.changeAuthorised(operator, called.method, guildId);
  }

  #isRoot({ service, method }: CalledMethod, headers: Headers, now: number): boolean {
    const token = headers(CALL_TOKEN_HEADER);
    return token !== undefined && openCall(this.#options.root, token, { audience: service, method }, now) !== undefined;
  }

  async #authenticate(called: CalledMethod, header: string | undefined, request: Buffer, now: number): Promise<string> {
    const call = readCall(called, header, now);
    const active = call && (await selectActive(this.#options.database, call.operator));
    if (!call || !active || !call.isSigned(active.publicKey, request)) throw unauthenticated();
    return call.operator;
  }

  async #roleOf(operator: string): Promise<Role | undefined> {
    if (operator === ROOT) return 'owner';
    return (await selectActive(this.#options.database, operator))?.role;
  }
}

function unauthenticated(): ApiError {
  return new ApiError('INVALID_API_KEY', { message: 'The operator credential is unknown or was revoked' });
}

function decode(method: AdminMethod, request: Buffer): unknown {
  try {
    return method.decode(request);
  } catch (cause) {
    throw new ApiError('INVALID_REQUEST', { message: 'The request cannot be read', cause });
  }
}
