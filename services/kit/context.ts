import { AsyncLocalStorage } from 'node:async_hooks';

/** What follows a request through a process without being passed along: for logs and outgoing calls. */
export interface RequestContext {
  requestId: string;
  /** The route's or method's name. */
  route: string;
  /** At the gateway, once it has judged the key. */
  keyId?: string;
}

export const requestContext = new AsyncLocalStorage<RequestContext>();
