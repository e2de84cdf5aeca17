import { ApiError, type ErrorResponse, type GuildDataError, InvalidResponseError } from './errors.ts';
import { ERROR_CLASSES } from './operations-errors.ts';

type Details = { readonly code: string; readonly [field: string]: unknown };

/** The parsed JSON of a body; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True for the envelope of a success. */
export function isSuccess(body: unknown): body is { data: unknown } {
  return isObject(body) && body['status'] === 'success' && 'data' in body;
}

/** The details of an error in the API's envelope; undefined for any other body. */
export function detailsOf(body: unknown): Details | undefined {
  const details = isObject(body) && body['status'] === 'error' ? body['details'] : undefined;
  return isObject(details) && typeof details['code'] === 'string' ? (details as Details) : undefined;
}

/** The error that a response stands for. */
export function errorOf(operation: string, { status, headers }: Response, body: unknown): GuildDataError {
  const details = detailsOf(body);
  const response: ErrorResponse = {
    operation,
    status,
    message: details
      ? `${String((body as { message?: unknown }).message)} (${status})`
      : `the response with status ${status} is not from the API`,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: secondsIn(headers.get('retry-after')),
  };
  if (!details) return new InvalidResponseError(response);
  const known = (ERROR_CLASSES as Record<string, new (response: ErrorResponse, details: never) => ApiError>)[
    details.code
  ];
  return known ? new known(response, details as never) : new ApiError(response, details);
}

function secondsIn(text: string | null): number | undefined {
  return text !== null && /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
