import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { ApiError, ERRORS, type ErrorCode } from '#kit/errors.ts';
import { errorBody } from '#kit/http/envelope.ts';
import { FRAME_END } from '#kit/http/event-stream.ts';
import type { Route } from '#proto/rest/route.ts';
import {
  type Components,
  componentRef,
  type JsonSchema,
  type OpenApiResponse,
  type Ref,
  type StreamContent,
} from './document.ts';
import { errorsOf, type RouteError, SHARED_ERRORS } from './errors.ts';
import { exampleOf } from './examples.ts';
import { type HeaderName, headerRefs, RATE_LIMIT_HEADERS } from './headers.ts';
import { toJsonSchema } from './json-schema.ts';

/** The schema of the body of every error response, with all fields that `details` can have. */
export const errorEnvelope = z
  .object({
    status: z.literal('error'),
    code: z.int().meta({ description: 'HTTP status' }),
    message: z.string().meta({ description: 'Message for people; may change at any time' }),
    details: z.object({
      code: z
        .enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]])
        .meta({ description: 'Error code, for programs' }),
      errors: z
        .array(
          z.object({
            path: z.string().meta({ description: '`body.x`, `query.x`, `path.x` or `header.X-Guild-ID`' }),
            message: z.string(),
          }),
        )
        .optional()
        .meta({ description: 'With INVALID_REQUEST: all faults of the request' }),
      required_scope: z.string().optional().meta({ description: 'With MISSING_SCOPE: the scope that the key needs' }),
      conflict: z
        .object({ chat_id: z.string(), game_id: z.int() })
        .optional()
        .meta({ description: 'With CONFLICT of a link: the existing link' }),
      client_ip: z.string().optional().meta({ description: 'With IP_NOT_ALLOWED: the address of the client' }),
      category: z.string().optional().meta({ description: 'With RATE_LIMITED: category of the exceeded limit' }),
      limit: z.int().optional().meta({ description: 'With RATE_LIMITED: requests per window' }),
      window: z.int().optional().meta({ description: 'With RATE_LIMITED: length of the window in seconds' }),
      retryAfter: z.int().optional().meta({ description: 'With RATE_LIMITED: seconds to wait before the next retry' }),
    }),
  })
  .meta({ id: 'Error', description: 'The envelope of every error' });

/** Returns the success and error responses of a route, by status. Adds shared parts to `components`. */
export function responsesOf(route: Route, components: Components): Record<string, OpenApiResponse | Ref> {
  const responses: Record<string, OpenApiResponse | Ref> = {
    [route.status]: successResponse(route, route.status, route.message, components),
  };
  if (route.repeatedMessage) responses[200] = successResponse(route, 200, route.repeatedMessage, components);
  const byStatus = Map.groupBy(errorsOf(route), ({ error }) => error.httpStatus);
  for (const [status, errors] of byStatus) {
    const isShared = errors.every(({ error }) => SHARED_ERRORS.includes(error.code));
    responses[status] = isShared ? shared(errors, components) : errorResponse(errors, components);
  }
  return responses;
}

/** Returns the schema of a success response: the envelope around the schema of `data`. */
export function successEnvelope(status: number, message: string, data: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['status', 'code', 'message', 'data'],
    properties: {
      status: { type: 'string', const: 'success' },
      code: { type: 'integer', const: status },
      message: { type: 'string', description: 'Message for people', examples: [message] },
      data,
    },
  };
}

function successResponse(route: Route, status: number, message: string, components: Components): OpenApiResponse {
  const headers: HeaderName[] = ['X-Request-Id', ...RATE_LIMIT_HEADERS];
  if (route.writes) headers.push('Idempotency-Replayed');
  if (route.deprecated) headers.push('Deprecation', 'Sunset', 'Link');
  const rest = { description: message, headers: headerRefs(headers) };
  if (route.eventStream) {
    const event = toJsonSchema(route.eventStream.event, 'output', components.schemas);
    return { ...rest, content: streamContent(exampleOf(event, components)) };
  }
  const schema = successEnvelope(status, message, toJsonSchema(route.data, 'output', components.schemas));
  return { ...rest, content: { 'application/json': { schema, example: exampleOf(schema, components) } } };
}

/** Returns the content of a stream of events. `event` is an example of an event. */
function streamContent(event: unknown): StreamContent {
  const { seq, type } = event as { seq: number; type: string };
  const description = 'Server-sent events. The `data` of each is an event as JSON, as the list of events has it';
  const example = `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify(event)}${FRAME_END}`;
  return { 'text/event-stream': { schema: { type: 'string', description }, example } };
}

function shared(errors: RouteError[], components: Components): Ref {
  const status = errors[0]?.error.httpStatus ?? 500;
  const name = (STATUS_CODES[status] ?? '').replaceAll(' ', '');
  components.responses[name] ??= errorResponse(errors, components);
  return componentRef('responses', name);
}

/**
 * Returns the error response of one status: the envelope, the possible values of `details.code`, and an example of
 * each.
 */
export function errorResponse(errors: RouteError[], components: Components): OpenApiResponse {
  const status = errors[0]?.error.httpStatus ?? 500;
  const codes = [...new Set(errors.map(({ error }) => error.code))];
  const details = { type: 'object', properties: { code: { type: 'string', enum: codes } } };
  const narrowed = { type: 'object', properties: { code: { type: 'integer', const: status }, details } };
  const schema = { allOf: [toJsonSchema(errorEnvelope, 'output', components.schemas), narrowed] };
  return {
    description: errors.map(descriptionOf).join('\n\n'),
    headers: headerRefs(headersOf(errors)),
    content: { 'application/json': { schema, examples: examplesOf(errors) } },
  };
}

function descriptionOf({ error, meaning, counted }: RouteError): string {
  const when = typeof counted === 'object' ? `. ${counted.sometimes}` : '';
  return `\`${error.code}\`: ${meaning}${when}`;
}

function headersOf(errors: RouteError[]): HeaderName[] {
  const headers: HeaderName[] = ['X-Request-Id'];
  if (errors.some(({ counted }) => counted)) headers.push(...RATE_LIMIT_HEADERS);
  const hasRetryAfter = errors.some(
    ({ error, advice }) => error.retryAfter !== undefined || /Retry-After/.test(advice),
  );
  if (hasRetryAfter) headers.push('Retry-After');
  return headers;
}

function examplesOf(errors: RouteError[]) {
  const examples = errors.map(({ error, name, meaning, advice }) => [
    name,
    { summary: meaning, description: advice, value: JSON.parse(errorBody(error)) as unknown },
  ]);
  return Object.fromEntries(examples);
}

/** Returns the 503 response of paths that need no API key. */
export function unavailableResponse(components: Components): OpenApiResponse {
  const error = new ApiError('UNAVAILABLE', { message: 'not ready' });
  const meaning = 'The gateway is starting or stopping, or cannot reach its dependencies';
  const advice = 'Send requests to another gateway.';
  return errorResponse([{ error, name: error.code, meaning, advice, counted: false }], components);
}
