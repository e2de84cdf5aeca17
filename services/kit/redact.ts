const KEY_START = 'service_';
/** What a key looks like, cut after the part that its owner may see (contract, section 3). */
const KEY_SHAPE = /(service_\d{1,20}_[0-9A-Za-z]{0,6})[0-9A-Za-z]*/g;

/** Replaces the secret part of everything shaped like a key. */
export function redactKeys(text: string): string {
  // Most texts hold none.
  if (!text.includes(KEY_START)) return text;
  return text.replace(KEY_SHAPE, '$1***');
}

const DEEPEST_CAUSE = 5;
const MOST_ERRORS = 5;

/** What a log line tells of an error. */
export interface LoggedError {
  type: string;
  message: string;
  code?: string | number;
  stack?: string | undefined;
  cause?: LoggedError;
  /** Of several attempts that failed together. */
  errors?: LoggedError[];
}

/**
 * An error without its other properties: those of libraries hold commands with passwords, addresses with passwords,
 * rows and bytes of answers.
 */
export function describeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an error' };
  const { code } = error as { code?: unknown };
  const causes = depth < DEEPEST_CAUSE;
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    stack: error.stack,
    ...(causes && error.cause !== undefined ? { cause: describeError(error.cause, depth + 1) } : {}),
    ...(causes && error instanceof AggregateError
      ? { errors: error.errors.slice(0, MOST_ERRORS).map((each) => describeError(each, depth + 1)) }
      : {}),
  };
}
