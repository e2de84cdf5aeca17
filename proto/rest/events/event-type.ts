import type { z } from 'zod';
import type { Scope } from '../scopes.ts';

/** Defines a type of event: everything that its recording, its readers and the documentation need. */
export interface EventTypeSpec<Data extends z.ZodObject = z.ZodObject> {
  /** The scope with which a key may read events of this type; null if every valid key may. */
  scope: Scope | null;
  summary: string;
  /** The shape of `data`: the record as the REST routes return it. */
  data: Data;
  /** The fields of `data` that name persons, with a single ID or a list. Their events are emptied on erasure. */
  persons: { chat?: readonly string[]; game?: readonly string[] };
}

/** Checks an event type against EventTypeSpec while keeping the exact type of its data. */
export const eventType = <Data extends z.ZodObject>(spec: EventTypeSpec<Data>): EventTypeSpec<Data> => spec;
