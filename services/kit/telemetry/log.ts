import { type DestinationStream, type Logger, pino } from 'pino';
import { requestContext } from '../context.ts';
import { describeError, redactKeys } from '../security/redact.ts';
import { batchLines } from './log-output.ts';

export type { Logger } from 'pino';

export interface LogOptions {
  service: string;
  level: string;
  /** The stream that log lines are written to; standard output if left out. */
  destination?: DestinationStream;
}

/**
 * Creates a logger that writes JSON lines to standard output, or readable lines to a terminal. Each line has the
 * request ID and the trace ID of the current request, and the secret parts of API keys are redacted.
 */
export async function createLog(options: LogOptions): Promise<Logger> {
  return pino(
    {
      level: options.level,
      base: { service: options.service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => {
        const context = requestContext.getStore();
        if (!context) return {};
        const { requestId, route, operator, span } = context;
        return {
          request_id: requestId,
          ...(span && { trace_id: span.traceId }),
          route,
          ...(operator !== undefined && { operator }),
        };
      },
      serializers: { err: (error: unknown) => describeError(error) },
      hooks: { streamWrite: redactKeys },
    },
    options.destination ?? (await standardOutput()),
  );
}

async function standardOutput(): Promise<DestinationStream> {
  if (!process.stdout.isTTY) return batchLines(pino.destination({ sync: true }));
  const { default: pretty } = await import('pino-pretty');
  return pretty({ colorize: true, ignore: 'pid,hostname', sync: true });
}
