import type { PublicErrorCode } from '#kit/errors.ts';
import { errorBody } from '#kit/http/envelope.ts';
import {
  type Components,
  componentRef,
  type Example,
  mediaTypeOf,
  type OpenApiResponse,
  type Ref,
} from './document.ts';
import { errorBodySchema, nameOf } from './error-schemas.ts';
import { DEFAULT_ERRORS, type RouteError, sharedErrors } from './errors.ts';
import { type HeaderName, headerRefs, RATE_LIMIT_HEADERS } from './headers.ts';

/** The names of components with several errors; otherwise the name consists of the error codes. */
const NAMES: Record<string, string> = {
  [DEFAULT_ERRORS.map(nameOf).join('Or')]: 'Error',
};

/**
 * Returns a reference to the error response with these codes, which all operations share. If an error means something
 * special on the route, the reference has a description of its own, which says what.
 */
export function errorResponse(errors: readonly RouteError[], components: Components): Ref {
  const special = errors.filter((error) => error.isSpecial);
  const codes = [...new Set(errors.map(({ code }) => code))];
  const isOnly = new Set(codes).size === 1;
  const description = isOnly ? special.map(({ meaning }) => meaning).join('\n\n') : describe(special);
  return { ...sharedResponse(codes, components), ...(special.length > 0 && { description }) };
}

/** Returns a reference to the response with the errors that every operation can return. */
export const defaultResponse = (components: Components): Ref => sharedResponse(DEFAULT_ERRORS, components);

/** Returns the response to a request that is rejected before its path matters. */
export const headersTooLargeResponse = (components: Components): Ref =>
  sharedResponse(['HEADERS_TOO_LARGE'], components);

/** Returns the 503 response of paths that need no API key. */
export const unavailableResponse = (components: Components): Ref => ({
  ...defaultResponse(components),
  description: '`UNAVAILABLE`: The gateway is starting or stopping, or cannot reach its dependencies',
});

function sharedResponse(codes: readonly PublicErrorCode[], components: Components): Ref {
  const joined = codes.map(nameOf).join('Or');
  const name = NAMES[joined] ?? joined;
  components.responses[name] ??= newResponse(codes, components);
  return componentRef('responses', name);
}

function newResponse(codes: readonly PublicErrorCode[], components: Components): OpenApiResponse {
  const errors = codes.flatMap(sharedErrors);
  const examples = errors.map(({ error, name, meaning, advice }): [string, Example] => [
    name,
    {
      ...(meaning !== error.message && { summary: meaning }),
      description: advice,
      value: JSON.parse(errorBody(error)) as unknown,
    },
  ]);
  const isForbidden = codes.includes('GUILD_MISMATCH');
  const headers = headersOf(errors);
  return {
    description: codes.length > 1 ? `${SEVERAL}${isForbidden ? COUNTED_IF : ''}` : (errors[0]?.meaning ?? ''),
    ...(headers.length > 0 && { headers: headerRefs(headers) }),
    content: {
      'application/json': { schema: errorBodySchema(codes, components), examples: Object.fromEntries(examples) },
    },
  };
}

/** Moves the examples that several error responses have to the components of the document. */
export function shareErrorExamples({ responses, examples }: Components): void {
  const all = Object.values(responses).map(({ content }) => mediaTypeOf(content).examples ?? {});
  const uses = Map.groupBy(all.flatMap(Object.keys), (name) => name);
  for (const found of all) {
    for (const [name, example] of Object.entries(found)) {
      if ('$ref' in example || uses.get(name)?.length === 1) continue;
      examples[name] = example;
      found[name] = componentRef('examples', name);
    }
  }
}

const SEVERAL = 'One of the errors in the examples; `details.code` says which';
const COUNTED_IF = '. A request that gets 403 was counted only if the cause is `guild_id` in the body';

const describe = (errors: readonly RouteError[]) =>
  errors.map(({ code, meaning }) => `\`${code}\`: ${meaning}`).join('\n\n');

/**
 * Reads what the errors of a response mean from its description: pairs of an error code and its meaning. A response with
 * one code does not repeat it.
 */
export function meaningsIn(description: string, codes: readonly string[]): [code: string, meaning: string][] {
  const [only, ...others] = new Set(codes);
  if (only !== undefined && others.length === 0) return description === '' ? [] : [[only, description]];
  return description.split('\n\n').flatMap((line): [string, string][] => {
    const [, code, meaning] = /^`([A-Z_]+)`: (.*)$/s.exec(line) ?? [];
    return code === undefined || meaning === undefined ? [] : [[code, meaning]];
  });
}

/** Returns the headers of an error response, without those that every response has. */
function headersOf(errors: readonly RouteError[]): HeaderName[] {
  const isLimit = errors.some(({ code }) => code === 'RATE_LIMITED');
  const hasRetryAfter = errors.some(
    ({ error, advice }) => error.retryAfter !== undefined || /Retry-After/.test(advice),
  );
  return [...(isLimit ? RATE_LIMIT_HEADERS : []), ...(hasRetryAfter ? (['Retry-After'] as const) : [])];
}
