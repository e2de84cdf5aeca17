import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestContext } from '#kit/context.ts';
import type { Address } from '#kit/downstream/client-address.ts';
import type { Route } from '#proto/rest/route.ts';
import type { Held } from './downstream/admission.ts';

/** The state of one request while the gateway handles it. */
export interface RequestState extends Held {
  request: IncomingMessage;
  response: ServerResponse;
  /** An object of its own, because things created during a request, such as a connection, keep it in memory. */
  context: RequestContext;
  /** The matched route; undefined until there is one. */
  route: Route | undefined;
  /** The value of the X-Forwarded-For header as the client sent it. */
  forwarded: string | undefined;
  /** The client's address; undefined until it has been determined. */
  address: Address | undefined;
  /** When the pipeline began with the request, by performance.now(). */
  started: number;
  /** The milliseconds that a service took to respond or to fail. */
  upstreamMs: number;
  /** True if the response is a stream that has begun; its admission slot is released when the stream ends. */
  isStream: boolean;
}
