import { AsyncLocalStorage } from 'node:async_hooks';

/** Data about the current request, for log lines and outgoing calls; available without being passed as an argument. */
export interface RequestContext {
  requestId: string;
  /** The name of the route or gRPC method. */
  route: string;
  /** Set at the gateway after the API key is authenticated. */
  keyId?: string;
  /** The guild that the request names, if any: limited resources are shared fairly among guilds. */
  guildId?: string;
  /** The operator's name, if the call was made by an operator. */
  operator?: string;
}

export const requestContext = new AsyncLocalStorage<RequestContext>();

/**
 * The reasons for a call, the most urgent first: `caller` (a client waits for the response), `background` (work that
 * follows a request) and `job` (a long job). Where calls are limited, the more urgent ones are made first.
 */
export const PURPOSES = ['caller', 'background', 'job'] as const;
export type Purpose = (typeof PURPOSES)[number];

/** The header with the Purpose of a gRPC call; absent for `caller`. */
export const PURPOSE_HEADER = 'x-purpose';

const purposes = new AsyncLocalStorage<Purpose>();

/** Runs `work` with a purpose, which calls to other services pass on in their metadata. */
export function withPurpose<Result>(purpose: Purpose, work: () => Result): Result {
  return purposes.run(purpose, work);
}

/** The purpose of the current work; `caller` by default. */
export const currentPurpose = (): Purpose => purposes.getStore() ?? 'caller';

/** Parses the purpose that another process sent; an unknown value reads as `caller`. */
export function readPurpose(text: string | undefined): Purpose {
  return PURPOSES.find((purpose) => purpose === text) ?? 'caller';
}
