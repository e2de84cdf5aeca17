import { z } from 'zod';
import { ERRORS, PUBLIC_CODES, type PublicErrorCode } from '#kit/errors.ts';
import { type Components, componentRef, type JsonSchema } from './document.ts';
import { toJsonSchema } from './json-schema.ts';

const errorCode = z.enum(PUBLIC_CODES).meta({ id: 'ErrorCode', description: 'Error code, for programs' });

/** The schema of the body of every error response. Each error narrows `code` and `details`. */
export const apiError = z
  .object({
    status: z.literal('error'),
    code: z.int().meta({ description: 'HTTP status' }),
    message: z.string().meta({ description: 'Message for people; may change at any time' }),
    details: z.looseObject({ code: errorCode }),
  })
  .meta({ id: 'ApiError', description: 'The envelope of every error' });

const fault = z
  .object({
    path: z.string().meta({ description: '`body.x`, `query.x`, `path.x` or `header.X-Guild-ID`' }),
    message: z.string(),
  })
  .meta({ id: 'Fault', description: 'A fault of a request' });

const faults = z.array(fault).meta({ description: 'All faults of the request' });
const seq = z.int().min(0);

/** The fields of `details` next to `code`, for the errors that have some. */
const FIELDS: Partial<Record<PublicErrorCode, z.ZodRawShape>> = {
  INVALID_REQUEST: { errors: faults },
  INVALID_TARGET: { errors: faults.optional() },
  MISSING_SCOPE: { required_scope: z.string().meta({ description: 'The scope that the key needs' }) },
  IP_NOT_ALLOWED: {
    client_ip: z.string().nullable().meta({ description: 'The address of the client; null if it is not known' }),
  },
  CONFLICT: {
    conflict: z
      .object({ chat_id: z.string(), game_id: z.int() })
      .optional()
      .meta({ description: 'The existing link, if an account is linked already' }),
  },
  QUOTA_EXCEEDED: {
    quota: z.string().meta({ description: 'Name of the quota' }),
    limit: z.int().meta({ description: 'Maximum of the quota' }),
  },
  EVENTS_GONE: {
    oldest_seq: seq.meta({ description: '`seq` of the oldest retained event' }),
    newest_seq: seq.meta({ description: '`seq` of the newest event' }),
  },
  RATE_LIMITED: {
    category: z.string().meta({ description: 'Category of the exceeded limit' }),
    limit: z.int().meta({ description: 'Requests per window' }),
    window: z.int().meta({ description: 'Length of the window in seconds' }),
    retryAfter: z.int().meta({ description: 'Seconds to wait before the next retry' }),
  },
};

/** Converts an error code to the name of its component: `NOT_FOUND` becomes `NotFound`. */
export const nameOf = (code: PublicErrorCode): string =>
  code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The schema of `details` of one error. */
export function detailsOf(code: PublicErrorCode): z.ZodObject {
  return z.object({ code: z.literal(code), ...FIELDS[code] });
}

/** The schema of `details` of errors that have no further fields. */
function plainDetails(codes: readonly PublicErrorCode[]): JsonSchema {
  const [only, ...others] = codes;
  const code: JsonSchema = others.length === 0 ? { const: only } : { enum: [...codes] };
  return { type: 'object', properties: { code }, required: ['code'] };
}

/** Returns the schema of the body of an error response with one of these codes. Adds shared parts to `components`. */
export function errorBodySchema(codes: readonly PublicErrorCode[], { schemas }: Components): JsonSchema {
  const withFields = codes.filter((code) => FIELDS[code]);
  const alternatives: JsonSchema[] = withFields.map((code) => {
    const name = `${nameOf(code)}Details`;
    schemas[name] ??= toJsonSchema(detailsOf(code), 'output', schemas);
    return componentRef('schemas', name);
  });
  const plain = codes.filter((code) => !FIELDS[code]);
  if (plain.length > 0) alternatives.push(plainDetails(plain));
  const [only, ...others] = alternatives;
  const details: JsonSchema = only && others.length === 0 ? only : { oneOf: alternatives };
  const [status, ...otherStatuses] = new Set(codes.map((code) => ERRORS[code].http));
  const code: JsonSchema | undefined = otherStatuses.length === 0 ? { const: status } : undefined;
  const properties = { ...(code && { code }), details };
  return { allOf: [toJsonSchema(apiError, 'output', schemas)], properties };
}
