import { requestContext } from '#kit/context.ts';
import { currentOperator } from '#kit/grpc/operators.ts';
import type { NewEntry } from '../../store/audit.ts';

/** A change that an operator made through a method of the auth service, for the audit. */
export interface OperatorAction {
  action: string;
  /** The operator's note for the audit; empty if there is none. */
  note: string;
  details: Record<string, unknown>;
}

/**
 * Returns the audit entry for the current call of the auth service. The actor in the entry is the operator who makes
 * the call.
 */
export function ownEntry(at: Date, { action, note, details }: OperatorAction): NewEntry {
  const actor = currentOperator();
  const method = requestContext.getStore()?.route ?? '';
  return { at, actor, action, service: 'auth', method, details: note === '' ? details : { ...details, note } };
}
