import { ClientTimeoutError, type GuildDataError, NetworkError } from './errors.ts';
import type { Operation } from './operation.ts';
import { parseJson } from './read-response.ts';
import type { PreparedRequest } from './request.ts';
import { type Runtime, reasonOf } from './runtime.ts';

export interface AttemptOptions {
  operation: Operation;
  request: PreparedRequest;
  runtime: Runtime;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  /** True to leave the body of a successful response unread. */
  isStream: boolean;
}

/** A response, with its body as parsed JSON unless it is a stream. */
export interface Received {
  response: Response;
  body: unknown;
}

/**
 * Sends a request once. Returns the error if there was no complete response, and rejects only if the caller's signal was
 * aborted. An open stream ends when that signal is aborted.
 */
export async function attempt(options: AttemptOptions): Promise<Received | GuildDataError> {
  const { operation, request, runtime, timeoutMs, signal, isStream } = options;
  if (signal?.aborted) throw reasonOf(signal);
  const controller = new AbortController();
  const abort = () => controller.abort(reasonOf(signal));
  signal?.addEventListener('abort', abort, { once: true });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    controller.abort();
  }, timeoutMs);
  let isOpen = false;
  try {
    const { url, method, headers, body } = request;
    // A redirect could send the key to another host.
    const init = { method, headers, signal: controller.signal, redirect: 'manual' } as const;
    const response = await runtime.fetch(url, body === undefined ? init : { ...init, body });
    isOpen = isStream && response.ok;
    return { response, body: isOpen ? undefined : parseJson(await response.text()) };
  } catch (error) {
    if (signal?.aborted) throw reasonOf(signal);
    if (isLate) return new ClientTimeoutError(operation.name, `no response within ${Math.round(timeoutMs)} ms`);
    return new NetworkError(
      operation.name,
      `no response from ${new URL(request.url).origin}: ${describe(error, request)}`,
    );
  } finally {
    clearTimeout(timer);
    if (!isOpen) signal?.removeEventListener('abort', abort);
  }
}

/** The messages of an error and its causes. Implementations of fetch may quote headers, and one of them is the key. */
function describe(error: unknown, { headers }: PreparedRequest): string {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error && messages.length < 5; cause = cause.cause) {
    const { code } = cause as { code?: unknown };
    messages.push(cause.message || (typeof code === 'string' ? code : cause.name));
  }
  const text = messages.join(': ') || 'unknown reason';
  return text.replaceAll(headers['x-api-key'] ?? '\0', '[key]');
}
