import type { AttemptEnd } from '#kit/queue/definition.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { PreviewItem } from '../store/binding-previews.ts';
import type { JobName } from '../store/sync-jobs.ts';

/** Log lines of previews of role bindings. The queue counts attempts and open items. */
export class PreviewTelemetry {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  queued({ guildId, id }: JobName): void {
    this.#log.info({ guild_id: guildId, job_id: id }, 'binding preview queued');
  }

  /** Logs that a preview has failed because its attempts ended without a result or an error, as if they killed the processes. */
  workersDied({ guildId, id, attempts }: PreviewItem): void {
    const line = { guild_id: guildId, job_id: id, attempts };
    this.#log.error(line, 'binding preview failed, because it made no progress and its workers may have died');
  }

  /** Logs how an attempt at a preview ended. */
  settled({ guildId, id, attempts }: PreviewItem, { outcome, error }: AttemptEnd): void {
    const line = { guild_id: guildId, job_id: id, attempts, outcome };
    if (outcome === 'lost')
      return this.#log.info(line, 'binding preview is continued by another process, because its lease had ended');
    if (!error) return this.#log.info(line, 'binding preview attempt ended');
    const text = outcome === 'dead' ? 'binding preview failed' : 'binding preview attempt failed, will retry';
    if (error.code === 'INTERNAL') this.#log.error({ ...line, err: error }, text);
    else this.#log.info({ ...line, code: error.code }, text);
  }
}
