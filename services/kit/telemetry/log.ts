import { type DestinationStream, type Logger, pino } from 'pino';
import { requestContext } from '../context.ts';
import { describeError, redactKeys } from '../security/redact.ts';
import { gatherLines } from './log-output.ts';

export type { Logger } from 'pino';

export interface LogOptions {
  service: string;
  level: string;
  /** Standard output when left out. */
  destination?: DestinationStream;
}

/**
 * JSON lines on standard output, pretty ones in a terminal; each with its request's ID and without a key's secret.
 * The gateway's refusal-log.ts writes such lines by itself.
 */
export async function createLog(options: LogOptions): Promise<Logger> {
  return pino(
    {
      level: options.level,
      base: { service: options.service },
      timestamp: timestamps(),
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => {
        const context = requestContext.getStore();
        if (!context) return {};
        const { requestId, route, operator } = context;
        return operator === undefined ? { request_id: requestId, route } : { request_id: requestId, route, operator };
      },
      serializers: { err: (error: unknown) => describeError(error) },
      hooks: { streamWrite: redactKeys },
    },
    options.destination ?? (await standardOutput()),
  );
}

/** As pino's own isoTime, but written once a millisecond and not once a line. */
function timestamps(): () => string {
  let [at, text] = [0, ''];
  return () => {
    const now = Date.now();
    if (now !== at) [at, text] = [now, `,"time":"${new Date(now).toISOString()}"`];
    return text;
  };
}

async function standardOutput(): Promise<DestinationStream> {
  if (!process.stdout.isTTY) return gatherLines(pino.destination({ sync: true }));
  const { default: pretty } = await import('pino-pretty');
  return pretty({ colorize: true, ignore: 'pid,hostname', sync: true });
}
