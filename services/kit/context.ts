import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span } from './telemetry/tracing/span.ts';

/**
 * Data about the request being handled. Log lines and outgoing gRPC calls read it without receiving it as an argument.
 */
export interface RequestContext {
  requestId: string;
  /** The name of the REST route, or the full path of the gRPC method. */
  route: string;
  /** The ID of the API key; set only in the gateway, after the API key was authenticated. */
  keyId?: string;
  /**
   * The guild that the request names, if any. Limited resources, such as platform calls, are shared fairly among
   * guilds.
   */
  guildId?: string;
  /** The operator's name, if an operator made the call with guildctl. */
  operator?: string;
  /** The address from which an operator's call came, for the audit. */
  address?: string;
  /** The span of the request; undefined unless traces are exported. */
  span?: Span | undefined;
}

export const requestContext = new AsyncLocalStorage<RequestContext>();

/**
 * The reasons why work is done, the most urgent first: `caller` (a client waits for the response), `background` (work
 * that follows a request) and `job` (a long job). Where calls to a platform are limited, more urgent calls are made
 * first.
 */
export const PURPOSES = ['caller', 'background', 'job'] as const;
export type Purpose = (typeof PURPOSES)[number];

/** The gRPC header that carries the purpose of a call to the called service; absent for the purpose `caller`. */
export const PURPOSE_HEADER = 'x-purpose';

const purposes = new AsyncLocalStorage<Purpose>();

/** Runs `work` with a purpose. gRPC calls that `work` makes send this purpose to the called service. */
export function withPurpose<Result>(purpose: Purpose, work: () => Result): Result {
  return purposes.run(purpose, work);
}

/** Returns the purpose that `withPurpose` set for the current work; `caller` if none was set. */
export const currentPurpose = (): Purpose => purposes.getStore() ?? 'caller';

/** Parses the purpose in the header of a gRPC call; a missing or unknown purpose reads as `caller`. */
export function readPurpose(text: string | undefined): Purpose {
  return PURPOSES.find((purpose) => purpose === text) ?? 'caller';
}
