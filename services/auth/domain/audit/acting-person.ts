import { AsyncLocalStorage } from 'node:async_hooks';
import { withEventSource } from '#kit/events/source.ts';
import type { ConsolePerson } from '#kit/security/principal.ts';

/** A person in the console who makes a change, and the request with which they make it. */
export interface ActingPerson extends ConsolePerson {
  address: string;
  requestId: string;
}

const persons = new AsyncLocalStorage<ActingPerson>();

/** Runs `work` for a person: its audit entries and its events name the person. */
export function actAs<Result>(person: ActingPerson, work: () => Result): Result {
  return persons.run(person, () => withEventSource({ kind: 'console', id: person.id }, work));
}

/** Returns the person for whom the current work is done; undefined in calls of operators. */
export const actingPerson = (): ActingPerson | undefined => persons.getStore();
