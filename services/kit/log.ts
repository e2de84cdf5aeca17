import { type DestinationStream, type Logger, pino } from 'pino';
import { requestContext } from './context.ts';

export type { Logger } from 'pino';

/** What a key looks like, cut after the part that its owner may see (contract, section 3). */
const KEY_SHAPE = /(service_\d{1,20}_[0-9A-Za-z]{0,6})[0-9A-Za-z]*/g;

/** Replaces the secret part of everything shaped like a key. */
export function redactKeys(text: string): string {
  return text.replace(KEY_SHAPE, '$1***');
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
