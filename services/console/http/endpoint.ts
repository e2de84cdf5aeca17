import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { CONSOLE_ENDPOINTS, ConsoleEndpoint, ConsoleEndpointName } from '#proto/console/api.ts';
import type { Caller } from '#proto/gen/guild/auth/v1/console.ts';

/** The type of a validated part of a request; an endpoint reads only parts for which it has a schema. */
type Part<Endpoint extends ConsoleEndpoint, Name extends 'params' | 'query' | 'body'> =
  Endpoint extends Record<Name, infer Schema extends z.ZodType> ? z.output<Schema> : unknown;

/** A request to one of the console's own endpoints whose parts have all been validated. */
export interface EndpointRequest<Endpoint extends ConsoleEndpoint = ConsoleEndpoint> {
  params: Part<Endpoint, 'params'>;
  query: Part<Endpoint, 'query'>;
  body: Part<Endpoint, 'body'>;
  /** The session and the request for auth. The session token is empty if the endpoint works without a session. */
  caller: Caller;
  userAgent: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** The result of an endpoint: the data of its JSON response, the path to which it redirects, or a stream that has begun. */
export type EndpointResult<Data = unknown> = ({ data: Data } | { redirect: string } | 'stream') & {
  /** Values of Set-Cookie headers. */
  cookies?: readonly string[];
};

type DataOf<Endpoint> = Endpoint extends { data: infer Schema extends z.ZodType } ? z.input<Schema> : never;

/** The handlers of the console's own endpoints. */
export type ConsoleHandlers = {
  [Name in ConsoleEndpointName]: (
    request: EndpointRequest<(typeof CONSOLE_ENDPOINTS)[Name]>,
  ) => Promise<EndpointResult<DataOf<(typeof CONSOLE_ENDPOINTS)[Name]>>>;
};
