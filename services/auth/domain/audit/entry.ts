import { requestContext } from '#kit/context.ts';
import { currentOperator } from '#kit/grpc/operators.ts';
import { CONSOLE_KEY } from '#kit/security/principal.ts';
import type { NewEntry } from '../../store/audit.ts';
import { actingPerson } from './acting-person.ts';

/** A change that an operator or a person made through a method of the auth service, for the audit. */
export interface OperatorAction {
  action: string;
  /** The operator's note for the audit; empty if there is none. */
  note: string;
  details: Record<string, unknown>;
}

/**
 * Returns the audit entry for the current call of the auth service. The actor in the entry is the operator who makes
 * the call, or the console; the details then name the person.
 */
export function ownEntry(at: Date, { action, note, details }: OperatorAction): NewEntry {
  const method = requestContext.getStore()?.route ?? '';
  const entry = { at, action, service: 'auth', method };
  const person = actingPerson();
  if (person) {
    const { id, role, address, requestId } = person;
    return {
      ...entry,
      actor: CONSOLE_KEY,
      details: { ...details, person: { id, role }, address, request_id: requestId },
    };
  }
  const noted = note === '' ? details : { ...details, note };
  return { ...entry, actor: currentOperator(), details: { ...noted, ...callOrigin() } };
}

/** Returns the ID of the current call of an operator and the address that it came from, for the details of an entry. */
export function callOrigin(): { address?: string; request_id?: string } {
  const { address, requestId } = requestContext.getStore() ?? {};
  return address === undefined ? {} : { address, request_id: requestId ?? '' };
}
