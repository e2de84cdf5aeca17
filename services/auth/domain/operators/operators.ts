import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { currentOperator, ROOT } from '#kit/grpc/operators.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { CONSOLE_KEY } from '#kit/security/principal.ts';
import { appendEntries, INSTALLATION } from '../../store/audit.ts';
import * as store from '../../store/operators.ts';
import type { AuthTelemetry } from '../../telemetry.ts';
import { ownEntry } from '../audit/entry.ts';
import type { Role } from './roles.ts';

export interface OperatorsOptions {
  database: Database;
  clock: Clock;
  telemetry: AuthTelemetry;
}

/**
 * Adds, revokes and lists operators. Each change shares a transaction with its audit entry. `note` is the operator's
 * note for the audit; empty if there is none.
 */
export class Operators {
  readonly #options: OperatorsOptions;

  constructor(options: OperatorsOptions) {
    this.#options = options;
  }

  /** Adds an operator. Throws CONFLICT if an operator with this name exists or existed before. */
  async add(request: { name: string; role: Role; publicKey: Buffer; note: string }): Promise<store.OperatorRecord> {
    const { name, role, publicKey, note } = request;
    const { database, clock, telemetry } = this.#options;
    const now = new Date(clock.now());
    const createdBy = currentOperator();
    const operator = await database.transaction(async (transaction) => {
      const added = await store.insertOperator(transaction, { name, role, publicKey, createdAt: now, createdBy });
      if (!added || name === ROOT || name === CONSOLE_KEY)
        throw new ApiError('CONFLICT', { message: `The name ${name} is or was in use` });
      const action = { action: 'add_operator', note, details: { operator: name, role } };
      await appendEntries(transaction, INSTALLATION, [null], ownEntry(now, action));
      return added;
    });
    telemetry.operatorChanged(name, 'added', role);
    return operator;
  }

  /**
   * Revokes an operator; an operator that is already revoked stays unchanged. Throws NOT_FOUND if no operator has this
   * name.
   */
  async revoke(name: string, note: string): Promise<store.OperatorRecord> {
    const { database, clock, telemetry } = this.#options;
    return database.transaction(async (transaction) => {
      const operator = await store.lockOperator(transaction, name);
      if (!operator) throw new ApiError('NOT_FOUND', { message: `There is no operator ${name}` });
      if (operator.revokedAt) return operator;
      const now = new Date(clock.now());
      const action = { action: 'revoke_operator', note, details: { operator: name } };
      await appendEntries(transaction, INSTALLATION, [null], ownEntry(now, action));
      telemetry.operatorChanged(name, 'revoked', operator.role);
      return (await store.setRevoked(transaction, name, now)) ?? operator;
    });
  }

  /** Returns a page of operators, ordered by name, starting after the name `after`. */
  list(after: string, limit: number): Promise<store.OperatorRecord[]> {
    return store.selectOperators(this.#options.database, after, limit);
  }
}
