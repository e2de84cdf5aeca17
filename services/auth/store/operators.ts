import type { Queryable } from '#kit/postgres/pool.ts';
import type { Role } from '../domain/operators/roles.ts';

export interface OperatorRecord {
  name: string;
  role: Role;
  createdAt: Date;
  createdBy: string;
  revokedAt: Date | null;
}

const OPERATOR = `name, role, created_at AS "createdAt", created_by AS "createdBy", revoked_at AS "revokedAt"`;

/** Inserts an operator and returns it; undefined if the name was used before, even by a revoked operator. */
export async function insertOperator(
  transaction: Queryable,
  operator: Omit<OperatorRecord, 'revokedAt'> & { publicKey: Buffer },
): Promise<OperatorRecord | undefined> {
  const { name, publicKey, role, createdAt, createdBy } = operator;
  const [inserted] = await transaction.query<OperatorRecord>(
    `INSERT INTO auth.operators (name, public_key, role, created_at, created_by) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (name) DO NOTHING RETURNING ${OPERATOR}`,
    [name, publicKey, role, createdAt, createdBy],
  );
  return inserted;
}

/** Locks the row of an operator and returns it; undefined if no operator has this name. */
export async function lockOperator(transaction: Queryable, name: string): Promise<OperatorRecord | undefined> {
  const [found] = await transaction.query<OperatorRecord>(
    `SELECT ${OPERATOR} FROM auth.operators WHERE name = $1 FOR UPDATE`,
    [name],
  );
  return found;
}

export async function setRevoked(transaction: Queryable, name: string, now: Date): Promise<OperatorRecord | undefined> {
  const [revoked] = await transaction.query<OperatorRecord>(
    `UPDATE auth.operators SET revoked_at = $2 WHERE name = $1 RETURNING ${OPERATOR}`,
    [name, now],
  );
  return revoked;
}

/** Returns the public key and the role of an operator; undefined if the operator is unknown or revoked. */
export async function selectActive(
  database: Queryable,
  name: string,
): Promise<{ publicKey: Buffer; role: Role } | undefined> {
  const [found] = await database.query<{ publicKey: Buffer; role: Role }>(
    `SELECT public_key AS "publicKey", role FROM auth.operators WHERE name = $1 AND revoked_at IS NULL`,
    [name],
  );
  return found;
}

/** Returns a page of operators, ordered by name, starting after the name `after`. */
export function selectOperators(database: Queryable, after: string, limit: number): Promise<OperatorRecord[]> {
  return database.query<OperatorRecord>(
    `SELECT ${OPERATOR} FROM auth.operators WHERE name > $1 ORDER BY name LIMIT $2`,
    [after, limit],
  );
}
