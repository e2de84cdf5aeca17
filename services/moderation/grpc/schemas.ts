import type { z } from 'zod';

/** An optional field that is null if the message does not have it. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) =>
  schema.optional().transform((value) => value ?? null);
