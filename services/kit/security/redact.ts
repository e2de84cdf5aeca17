import { sourceStack } from '../telemetry/source-stack.ts';

/** Matches an API key; the capturing group is the part that may be shown. */
const KEY_SHAPE = /(service_\d{1,20}_[0-9A-Za-z]{0,6})[0-9A-Za-z]*/g;

/**
 * The length of an API key's random part with its checksum. Together with the guild ID, which is not secret, this part
 * is the whole key.
 */
const RANDOM_LENGTH = 38;
// The lookbehind lets a match begin only at the start of a run of letters and digits, which halves the search time.
const LONG_RUN = new RegExp(`(?<![0-9A-Za-z])[0-9A-Za-z]{${RANDOM_LENGTH},}`, 'g');
const SHOWN_LENGTH = 6;
/**
 * The minimum number of capitals in a text without digits that counts as random. Random letters of RANDOM_LENGTH have
 * about twice as many; camel-case names have fewer.
 */
const MIN_CAPITALS = 10;

/**
 * Redacts the secret part of everything that looks like an API key, and of everything that may be the random part of an
 * API key: 38 or more letters and digits in a row, in upper and lower case. (The checksum of a random part cannot be
 * verified, because it covers the guild ID.) Digests, UUIDs and trace IDs have only one case, and camel-case names have
 * few capitals and no digits, so they are not redacted.
 */
export function redactKeys(text: string): string {
  return text.replace(KEY_SHAPE, '$1***').replace(LONG_RUN, redactRandom);
}

/** True if a text contains something that looks like an API key. */
export function hasKeyShape(text: string): boolean {
  return text.search(KEY_SHAPE) !== -1;
}

function redactRandom(run: string): string {
  const isMixed = /[a-z]/.test(run) && /[A-Z]/.test(run);
  const isRandom = isMixed && (/[0-9]/.test(run) || run.replaceAll(/[^A-Z]/g, '').length >= MIN_CAPITALS);
  return isRandom ? `${run.slice(0, SHOWN_LENGTH)}***` : run;
}

const MAX_CAUSE_DEPTH = 5;
const MAX_ERRORS = 5;

/** The form in which an error is written into a log line. */
export interface LoggedError {
  type: string;
  message: string;
  code?: string | number;
  stack?: string | undefined;
  cause?: LoggedError;
  /** The inner errors of an AggregateError. */
  errors?: LoggedError[];
}

/**
 * Converts an error to its logged form. Other properties of the error are left out, because errors of libraries contain
 * passwords, rows and responses.
 */
export function describeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an error' };
  const { code } = error as { code?: unknown };
  const causes = depth < MAX_CAUSE_DEPTH;
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    stack: error.stack && sourceStack(error.stack),
    ...(causes && error.cause !== undefined ? { cause: describeError(error.cause, depth + 1) } : {}),
    ...(causes && error instanceof AggregateError
      ? { errors: error.errors.slice(0, MAX_ERRORS).map((each) => describeError(each, depth + 1)) }
      : {}),
  };
}
