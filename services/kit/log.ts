import { type DestinationStream, type Logger, pino } from 'pino';
import { requestContext } from './context.ts';

export type { Logger } from 'pino';

/** What a key looks like, cut after the part that its owner may see (contract, section 3). */
const KEY_SHAPE = /(service_\d{1,20}_[0-9A-Za-z]{0,6})[0-9A-Za-z]*/g;

/** Replaces the secret part of everything shaped like a key. */
export function redactKeys(text: string): string {
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

export interface LogOptions {
  service: string;
  level: string;
  /** Standard output when left out. */
  destination?: DestinationStream;
}

/** JSON lines on standard output, pretty ones in a terminal; each with its request's ID and without a key's secret. */
export async function createLog(options: LogOptions): Promise<Logger> {
  return pino(
    {
      level: options.level,
      base: { service: options.service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => {
        const context = requestContext.getStore();
        return context ? { request_id: context.requestId, route: context.route } : {};
      },
      serializers: { err: (error: unknown) => describeError(error) },
      hooks: { streamWrite: redactKeys },
    },
    options.destination ?? (await standardOutput()),
  );
}

async function standardOutput(): Promise<DestinationStream> {
  if (!process.stdout.isTTY) return pino.destination({ sync: true });
  const { default: pretty } = await import('pino-pretty');
  return pretty({ colorize: true, ignore: 'pid,hostname', sync: true });
}
