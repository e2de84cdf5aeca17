import { pino } from 'pino';
import type { RequestContext } from '#kit/context.ts';
import type { ErrorCode } from '#kit/errors.ts';
import { redactKeys } from '#kit/security/redact.ts';
import type { Logger } from '#kit/telemetry/log.ts';

const { symbols } = pino;
const INFO = pino.levels.values['info'] as number;

/**
 * What pino makes its lines of: its documentation has these symbols for programs that extend it, and they may change with
 * its version. The test tells.
 */
interface LineParts {
  /** By level, how a line begins. */
  [symbols.lsCacheSym]: Record<number, string>;
  [symbols.timeSym](): string;
  /** What every line of the logger tells. */
  [symbols.chindingsSym]: string;
  [symbols.streamSym]: { write(line: string): void };
}

/** What a line tells of an answer. */
export interface Told {
  method: string;
  code: number;
  /** How long it took. */
  ms: number;
}

/** Writes a line for each refused request. A flood has many, and pino took a sixth of the time of a refusal for one. */
export class RefusalLog {
  readonly #log: Logger & LineParts;

  constructor(log: Logger) {
    this.#log = log as Logger & LineParts;
  }

  /** The line that `log.info({ method, code, ms, refusal }, 'refused')` writes in the request's context. */
  refused({ requestId, route }: RequestContext, { method, code, ms }: Told, refusal: ErrorCode): void {
    const log = this.#log;
    if (!log.isLevelEnabled('info')) return;
    const begin = `${log[symbols.lsCacheSym][INFO]}${log[symbols.timeSym]()}${log[symbols.chindingsSym]}`;
    // No text here has a character that JSON escapes: all are names of ours, or what requestIdOf lets through.
    const request = `"request_id":"${redactKeys(requestId)}","route":"${route}","method":"${method}"`;
    const line = `${begin},${request},"code":${code},"ms":${ms},"refusal":"${refusal}","msg":"refused"}\n`;
    log[symbols.streamSym].write(line);
  }
}
