import { type AllowedCallers, CALL_TOKEN_HEADER, verifyCallToken } from '#kit/grpc/call-token.ts';
import {
  type CalledMethod,
  type Headers,
  OPERATOR_HEADER,
  type OperatorGuard,
  parseSignedCall,
  ROOT,
} from '#kit/grpc/operators.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { type Authority, unauthenticated } from '../domain/operators/authority.ts';
import { selectActive } from '../store/operators.ts';

export interface AuthOperatorGuardOptions {
  database: Database;
  /**
   * The operators' keys, which are derived from ADMIN_SECRETS. A caller that has one of these keys is the operator
   * `root`.
   */
  root: AllowedCallers;
  authority: Authority;
}

/**
 * Guards the gRPC methods of the auth service that operators call: authenticates the operator and checks the operator's
 * role.
 */
export class AuthOperatorGuard implements OperatorGuard {
  readonly #options: AuthOperatorGuardOptions;

  constructor(options: AuthOperatorGuardOptions) {
    this.#options = options;
  }

  admits(called: CalledMethod, headers: Headers, now: number): boolean {
    return this.#isRoot(called, headers, now) || parseSignedCall(called, headers(OPERATOR_HEADER), now) !== undefined;
  }

  async authorise(called: CalledMethod, headers: Headers, request: Buffer, now: number): Promise<string> {
    const operator = this.#isRoot(called, headers, now)
      ? ROOT
      : await this.#authenticate(called, headers(OPERATOR_HEADER), request, now);
    await this.#options.authority.allow({ ...called, operator, request, note: '' });
    return operator;
  }

  #isRoot({ service, method }: CalledMethod, headers: Headers, now: number): boolean {
    const token = headers(CALL_TOKEN_HEADER);
    return (
      token !== undefined &&
      verifyCallToken(this.#options.root, token, { audience: service, method }, now) !== undefined
    );
  }

  async #authenticate(called: CalledMethod, header: string | undefined, request: Buffer, now: number): Promise<string> {
    const call = parseSignedCall(called, header, now);
    const active = call && (await selectActive(this.#options.database, call.operator));
    if (!call || !active || !call.isSigned(active.publicKey, request)) throw unauthenticated();
    return call.operator;
  }
}
