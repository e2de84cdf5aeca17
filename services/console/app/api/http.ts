import { CSRF_HEADER } from '../constants.ts';
import { ApiError, isAbort } from './errors.ts';

export interface HttpRequest {
  method: string;
  /** Path and query on this host. */
  url: string;
  headers?: Readonly<Record<string, string>> | undefined;
  /** JSON text. */
  body?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Receives the headers of every response, such as those of the rate limit. */
  onHeaders?: ((headers: Headers) => void) | undefined;
}

const TIMEOUT_MS = 30_000;
const RETRY_AFTER_MS = 700;

let csrfToken = '';
let whenSignedOut: () => void = () => undefined;

/** Sets the token that each request that writes carries. */
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

/** Sets what happens when a response says that the session has ended. */
export function onSignedOut(listener: () => void): void {
  whenSignedOut = listener;
}

/** Sends a request and returns `data` of the response. A read is repeated once if there was no proper response. */
export async function send<Data>(request: HttpRequest): Promise<Data> {
  try {
    return await attempt<Data>(request);
  } catch (error) {
    const isRead = request.method === 'GET';
    if (!isRead || !(error instanceof ApiError) || !isTemporary(error)) throw error;
    await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS));
    request.signal?.throwIfAborted();
    return attempt<Data>(request);
  }
}

const isTemporary = ({ status }: ApiError) => status === 0 || status >= 502;

async function attempt<Data>({ method, url, headers = {}, body, signal, onHeaders }: HttpRequest): Promise<Data> {
  const isWrite = method !== 'GET';
  const response = await fetchOrThrow(url, {
    method,
    headers: {
      ...headers,
      ...(isWrite && { [CSRF_HEADER]: csrfToken }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    body,
    signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]),
  });
  onHeaders?.(response.headers);
  const json = await jsonOf(response);
  if (response.ok && json?.status === 'success') return json.data as Data;
  throw errorOf(response.status, json);
}

interface Envelope {
  status?: string;
  message?: string;
  data?: unknown;
  details?: { code?: string } & Record<string, unknown>;
}

function errorOf(status: number, json: Envelope | undefined): ApiError {
  const { message, details } = json ?? {};
  if (!message || !details?.code) return new ApiError('NO_CONNECTION', { message: NO_CONNECTION, status });
  if (details.code === 'NOT_SIGNED_IN') whenSignedOut();
  return new ApiError(details.code, { message, status, details });
}

async function jsonOf(response: Response): Promise<Envelope | undefined> {
  try {
    return (await response.json()) as Envelope;
  } catch (error) {
    if (isAbort(error)) throw error;
    return undefined;
  }
}

const NO_CONNECTION = 'The console could not be reached. Check your connection and try again.';

async function fetchOrThrow(url: string, init: Omit<RequestInit, 'body'> & { body: string | undefined }) {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError('NO_CONNECTION', { message: NO_CONNECTION });
  }
}
