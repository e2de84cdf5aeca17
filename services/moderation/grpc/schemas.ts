import type { z } from 'zod';

/** Returns the schema of an optional field whose value is null if the gRPC message lacks the field. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) =>
  schema.optional().transform((value) => value ?? null);
