import type { z } from 'zod';
import type { Call } from './routes.ts';
import { listFaults } from './world.ts';

/** The body of a control call; throws an error that lists what is invalid. */
export function parse<Schema extends z.ZodType>(schema: Schema, { body }: Call): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new Error(`The body is invalid:\n${listFaults(parsed.error)}`);
  return parsed.data;
}
