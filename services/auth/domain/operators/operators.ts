import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { currentOperator, ROOT } from '#kit/grpc/operators.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { appendEntries, INSTALLATION } from '../../store/audit.ts';
import * as store from '../../store/operators.ts';
import type { AuthEvents } from '../../telemetry.ts';
import { ownEntry } from '../audit/entry.ts';
import type { Role } from './roles.ts';

export interface OperatorsOptions {
  database: Database;
  clock: Clock;
  events: AuthEvents;
}

/** Adds, revokes and lists operators. Each change is one transaction with its entry in the audit. */
export class Operators {
  readonly #options: OperatorsOptions;

  constructor(options: OperatorsOptions) {
    this.#options = options;
  }

  /** CONFLICT when the name was ever used. */
  async add(asked: { name: string; role: Role; publicKey: Buffer; note: string }): Promise<store.OperatorRecord> {
    const { name, role, publicKey, note } = asked;
    const { database, clock, events } = this.#options;
    const now = new Date(clock.now());
    const createdBy = currentOperator();
    const operator = await database.transaction(async (transaction) => {
      const added = await store.insertOperator(transaction, { name, role, publicKey, createdAt: now, createdBy });
      if (!added || name === ROOT) throw new ApiError('CONFLICT', { message: `The name ${name} is or was in use` });
      const deed = { action: 'add_operator', note, details: { operator: name, role } };
      await appendEntries(transaction, INSTALLATION, [null], ownEntry(now, deed));
      return added;
    });
    events.operatorChanged(name, 'added', role);
    return operator;
  }

  /** An operator that is revoked already stays as it is. NOT_FOUND when there is none. */
  async revoke(name: string, note: string): Promise<store.OperatorRecord> {
    const { database, clock, events } = this.#options;
    return database.transaction(async (transaction) => {
      const operator = await store.lockOperator(transaction, name);
      if (!operator) throw new ApiError('NOT_FOUND', { message: `There is no operator ${name}` });
      if (operator.revokedAt) return operator;
      const now = new Date(clock.now());
      const deed = { action: 'revoke_operator', note, details: { operator: name } };
      await appendEntries(transaction, INSTALLATION, [null], ownEntry(now, deed));
      events.operatorChanged(name, 'revoked', operator.role);
      return (await store.setRevoked(transaction, name, now)) ?? operator;
    });
  }

  /** A page of operators behind a name. */
  list(after: string, limit: number): Promise<store.OperatorRecord[]> {
    return store.selectOperators(this.#options.database, after, limit);
  }
}
