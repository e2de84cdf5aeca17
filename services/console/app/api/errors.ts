/** An error that the console or a service returned, or `NO_CONNECTION` if there was no response. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, options: { message: string; status?: number; details?: Record<string, unknown> }) {
    super(options.message);
    this.name = 'ApiError';
    this.code = code;
    this.status = options.status ?? 0;
    this.details = options.details ?? {};
  }
}

/** True for the error of a request that was given up because its page was left. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
