import { requestContext } from '#kit/context.ts';
import { currentOperator } from '#kit/grpc/operators.ts';
import type { NewEntry } from '../../store/audit.ts';

/** What was done by a call of auth itself. */
export interface Deed {
  action: string;
  /** What the operator noted beside it; empty for none. */
  note: string;
  details: Record<string, unknown>;
}

/** The entry for what the current call does; its actor is the operator who makes the call. */
export function ownEntry(at: Date, { action, note, details }: Deed): NewEntry {
  const actor = currentOperator();
  const method = requestContext.getStore()?.route ?? '';
  return { at, actor, action, service: 'auth', method, details: note === '' ? details : { ...details, note } };
}
