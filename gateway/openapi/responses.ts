import { z } from 'zod';
import { FRAME_END } from '#kit/http/event-stream.ts';
import type { Route } from '#proto/rest/route.ts';
import type { Components, Content, JsonSchema, OpenApiResponse, Ref, StreamContent } from './document.ts';
import { defaultResponse, errorResponse } from './error-responses.ts';
import { errorsOf } from './errors.ts';
import { exampleOf } from './examples.ts';
import { type HeaderName, headerRefs } from './headers.ts';
import { toJsonSchema, toNamedSchema } from './json-schema.ts';
import { operationIdOf, schemaNames } from './operation-id.ts';

/** The schema of the fields of every success response. The schema of each response adds its `data`. */
const success = z
  .object({
    status: z.literal('success'),
    code: z.int().meta({ description: 'HTTP status' }),
    message: z.string().meta({ description: 'Message for people; may change at any time' }),
    data: z.looseObject({}),
  })
  .meta({ id: 'Success', description: 'The envelope of every success' });

/** Returns the success and error responses of a route, by status. Adds shared parts to `components`. */
export function responsesOf(route: Route, components: Components): Record<string, OpenApiResponse | Ref> {
  const responses: Record<string, OpenApiResponse | Ref> = {
    [route.status]: successResponse(route, route.message, components),
  };
  if (route.repeatedMessage) responses[200] = successResponse(route, route.repeatedMessage, components);
  for (const [status, errors] of errorsOf(route)) responses[status] = errorResponse(errors, components);
  responses['default'] = defaultResponse(components);
  return responses;
}

/** Returns the content of a success response: the envelope around `data`. Adds shared parts to `components`. */
export function successContent(data: JsonSchema, components: Components): Content {
  const envelope = toJsonSchema(success, 'output', components.schemas);
  return { 'application/json': { schema: { allOf: [envelope], properties: { data } } } };
}

function successResponse(route: Route, message: string, components: Components): OpenApiResponse {
  // The headers that many responses have are in the description of the document: repeated here they would be a tenth of it.
  const headers: HeaderName[] = [];
  if (route.deprecated) headers.push('Deprecation', 'Sunset', 'Link');
  const rest = { description: message, ...(headers.length > 0 && { headers: headerRefs(headers) }) };
  if (route.eventStream) {
    const event = toJsonSchema(route.eventStream.event, 'output', components.schemas);
    return { ...rest, content: streamContent(exampleOf(event, components)) };
  }
  const data = toNamedSchema(route.data, 'output', components.schemas, schemaNames(operationIdOf(route))[1]);
  return { ...rest, content: successContent(data, components) };
}

/** Returns the content of a stream of events. `event` is an example of an event. */
function streamContent(event: unknown): StreamContent {
  const { seq, type } = event as { seq: number; type: string };
  const description = 'Server-sent events';
  const example = `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify(event)}${FRAME_END}`;
  return { 'text/event-stream': { schema: { type: 'string', description }, example } };
}
