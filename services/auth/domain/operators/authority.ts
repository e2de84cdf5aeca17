import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { type CalledMethod, digestOf, ROOT } from '#kit/grpc/operators.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { appendEntries } from '../../store/audit.ts';
import { selectActive } from '../../store/operators.ts';
import type { AuthTelemetry } from '../../telemetry.ts';
import { callOrigin } from '../audit/entry.ts';
import { describeRequest } from './request-details.ts';
import { type AdminMethod, adminMethod, includesRole, type Role } from './roles.ts';

export interface AuthorityOptions {
  database: Database;
  clock: Clock;
  telemetry: AuthTelemetry;
}

/** A gRPC call that an authenticated operator wants to make. */
export interface OperatorCall extends CalledMethod {
  operator: string;
  /** The encoded protobuf request of the call. */
  request: Buffer;
  /** The operator's note for the audit; empty if there is none. */
  note: string;
}

/**
 * Decides which gRPC calls an operator may make. Writes changes that operators make in other services into the audit
 * before these services are called.
 */
export class Authority {
  readonly #options: AuthorityOptions;

  constructor(options: AuthorityOptions) {
    this.#options = options;
  }

  /**
   * Resolves if the operator may make the call; if the call changes something, its audit entry is then committed.
   * Throws MISSING_SCOPE if the operator's role does not include the method, NOT_FOUND if operators cannot call the
   * method.
   */
  async allow(call: OperatorCall): Promise<void> {
    const { operator, service, method: path } = call;
    const method = adminMethod(service, path);
    if (!method) {
      throw new ApiError('NOT_FOUND', { message: `Operators cannot call ${path} of ${service}: no role includes it` });
    }
    const role = await this.#roleOf(operator);
    if (!role) throw unauthenticated();
    if (!includesRole(role, method.role)) {
      this.#options.telemetry.operatorRejected(operator, path);
      const message = `The operator ${operator} has the role ${role}, but this call requires the role ${method.role}`;
      throw new ApiError('MISSING_SCOPE', { message });
    }
    if (method.audited === 'before') await this.#record(call, method);
  }

  async #record({ operator, service, method: path, request, note }: OperatorCall, method: AdminMethod): Promise<void> {
    const decoded = decode(method, request);
    if ((decoded as { dryRun?: unknown }).dryRun === true) return;
    const described = describeRequest(decoded, digestOf(request));
    const details = method.isAnonymous ? {} : described.details;
    await appendEntries(this.#options.database, described.guildId, [null], {
      at: new Date(this.#options.clock.now()),
      actor: operator,
      action: method.name,
      service,
      method: path,
      details: { ...details, ...(note === '' ? {} : { note }), ...callOrigin() },
    });
    this.#options.telemetry.changeAuthorised(operator, path, described.guildId);
  }

  async #roleOf(operator: string): Promise<Role | undefined> {
    if (operator === ROOT) return 'owner';
    return (await selectActive(this.#options.database, operator))?.role;
  }
}

export function unauthenticated(): ApiError {
  return new ApiError('INVALID_API_KEY', { message: 'The operator credential is unknown or was revoked' });
}

function decode(method: AdminMethod, request: Buffer): unknown {
  try {
    return method.decode(request);
  } catch (cause) {
    throw new ApiError('INVALID_REQUEST', { message: 'The request cannot be decoded', cause });
  }
}
