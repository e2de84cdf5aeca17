const KEY_START = 'service_';
/** What a key looks like, cut after the part that its owner may see (contract, section 3). */
const KEY_SHAPE = /(service_\d{1,20}_[0-9A-Za-z]{0,6})[0-9A-Za-z]*/g;

/** The random part of a key and its checksum, which open a guild for whoever also knows or guesses its ID. */
const RANDOM_LENGTH = 38;
const LONG_RUN = new RegExp(`[0-9A-Za-z]{${RANDOM_LENGTH},}`, 'g');
const SHOWN_LENGTH = 6;
/** Random text has twice as many; a name in camel case of this length has fewer. */
const MIN_CAPITALS = 10;

/**
 * Replaces the secret part of everything shaped like a key, and of what may be the random part of one alone: 38 or more
 * letters and digits in a row, of both cases. Its checksum covers the guild's ID, which is not there, and cannot be
 * verified. Hexadecimal digests, UUIDs and trace IDs are of one case, and names in camel case have few capitals and no
 * digits: they stay.
 */
export function redactKeys(text: string): string {
  // Most texts hold neither.
  const redacted = text.includes(KEY_START) ? text.replace(KEY_SHAPE, '$1***') : text;
  return hasLongRun(redacted) ? redacted.replace(LONG_RUN, redactRandom) : redacted;
}

/** Whether a text holds something with the shape of a whole key. */
export function hasKeyShape(text: string): boolean {
  return text.includes(KEY_START) && text.search(KEY_SHAPE) !== -1;
}

function redactRandom(run: string): string {
  const isMixed = /[a-z]/.test(run) && /[A-Z]/.test(run);
  const isRandom = isMixed && (/[0-9]/.test(run) || run.replaceAll(/[^A-Z]/g, '').length >= MIN_CAPITALS);
  return isRandom ? `${run.slice(0, SHOWN_LENGTH)}***` : run;
}

/**
 * Whether 38 letters or digits stand in a row. Every line of the log is searched: looking at every 38th character, and
 * back from those that may be part of a run, takes a tenth of what a regular expression takes.
 */
function hasLongRun(text: string): boolean {
  for (let at = RANDOM_LENGTH - 1; at < text.length; ) {
    let before = at;
    while (before > at - RANDOM_LENGTH && isAlphanumeric(text.charCodeAt(before))) before--;
    if (before === at - RANDOM_LENGTH) return true;
    at = before + RANDOM_LENGTH;
  }
  return false;
}

function isAlphanumeric(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
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
