import { AsyncLocalStorage } from 'node:async_hooks';

/** What follows a request through a process without being passed along: for logs and outgoing calls. */
export interface RequestContext {
  requestId: string;
  /** The route's or method's name. */
  route: string;
  /** At the gateway, once it has judged the key. */
  keyId?: string;
  /** The guild that the request concerns, where it names one: guilds share what is limited fairly. */
  guildId?: string;
  /** Who makes the call, where operators do. */
  operator?: string;
}

export const requestContext = new AsyncLocalStorage<RequestContext>();

/**
 * For what a call is made, the most urgent first: somebody waits for the response, work that follows from a request
 * soon after it, or a long job. Where calls are limited, the more urgent ones come first.
 */
export const PURPOSES = ['caller', 'background', 'job'] as const;
export type Purpose = (typeof PURPOSES)[number];

const purposes = new AsyncLocalStorage<Purpose>();

/** Does the work for a purpose, which calls to other services carry in their metadata. */
export function withPurpose<Result>(purpose: Purpose, work: () => Result): Result {
  return purposes.run(purpose, work);
}

/** `caller` unless the work was begun for another purpose. */
export const currentPurpose = (): Purpose => purposes.getStore() ?? 'caller';

/** What another process sent as its purpose; anything unknown is `caller`. */
export function readPurpose(text: string | undefined): Purpose {
  return PURPOSES.find((purpose) => purpose === text) ?? 'caller';
}
