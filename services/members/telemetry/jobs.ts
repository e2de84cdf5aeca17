import { isServerError } from '#kit/errors.ts';
import type { AttemptEnd } from '#kit/queue/definition.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { JobItem, JobName, JobState, UnfinishedJobs } from '../store/sync-jobs.ts';

const UNFINISHED = ['queued', 'running', 'paused'] as const satisfies JobState[];

/** Metrics and log lines of synchronisation jobs. */
export class JobTelemetry {
  readonly #members;
  readonly #finished;
  readonly #pauses;
  readonly #log: Logger;
  #unfinished: readonly UnfinishedJobs[] = [];

  constructor(metrics: Metrics, log: Logger) {
    this.#members = metrics.counterOf(
      'members_sync_job_members_total',
      'Members that synchronisation jobs handled (done), changed, or failed to change (failed)',
      'outcome',
      ['done', 'changed', 'failed'],
    );
    this.#finished = metrics.counterOf(
      'members_sync_jobs_finished_total',
      'Synchronisation jobs that were completed, or failed because they made no progress for too long',
      'outcome',
      ['done', 'failed'],
    );
    this.#pauses = metrics.counter(
      'members_sync_job_pauses_total',
      'Attempts of synchronisation jobs that ended with an error, so that the job is retried later',
      ['code'],
    );
    metrics.gauge(
      'members_sync_jobs',
      'Unfinished synchronisation jobs of all guilds, by state',
      ['state'],
      (gauge) => {
        const counts = new Map(this.#unfinished.map(({ state, count }) => [state, count]));
        for (const state of UNFINISHED) gauge.set({ state }, counts.get(state) ?? 0);
      },
    );
    metrics.gauge(
      'members_sync_job_oldest_unfinished_seconds',
      'Time since the oldest unfinished synchronisation job was created; 0 when there is none',
      [],
      (gauge) => gauge.set(Math.max(0, ...this.#unfinished.map(({ oldestSeconds }) => oldestSeconds))),
    );
    metrics.gauge(
      'members_sync_job_longest_stall_seconds',
      'The longest time since a started, unfinished synchronisation job made progress; 0 when there is none',
      [],
      (gauge) => gauge.set(Math.max(0, ...this.#unfinished.map(({ stalledSeconds }) => stalledSeconds))),
    );
    this.#log = log;
  }

  queued({ guildId, id }: JobName, gameGroupId: number): void {
    this.#log.info({ guild_id: guildId, job_id: id, game_group_id: gameGroupId }, 'sync job queued');
  }

  /** Stores the counts of unfinished jobs of all guilds for the gauges. */
  counted(jobs: readonly UnfinishedJobs[]): void {
    this.#unfinished = jobs;
  }

  taken(item: JobItem): void {
    this.#log.info(namesOf(item), 'sync job attempt started');
  }

  /** Counts the members that a job has handled since the last call; a member can be both changed and failed. */
  advanced({ done, changed, failed }: { done: number; changed: number; failed: number }): void {
    this.#members.inc({ outcome: 'done' }, done);
    this.#members.inc({ outcome: 'changed' }, changed);
    this.#members.inc({ outcome: 'failed' }, failed);
  }

  /** Counts and logs how an attempt at a synchronisation job ended. */
  settled(item: JobItem, { outcome, error }: AttemptEnd): void {
    const line = { ...namesOf(item), code: error?.code };
    switch (outcome) {
      case 'done':
        this.#finished.inc({ outcome: 'done' });
        return this.#log.info({ ...line, outcome }, 'sync job finished');
      case 'dead':
        this.#finished.inc({ outcome: 'failed' });
        return this.#log.error({ ...line, outcome: 'failed' }, 'sync job failed permanently');
      case 'retried': {
        if (!error) return;
        this.#pauses.inc({ code: error.code });
        const level = error.code === 'INTERNAL' || !isServerError(error) ? 'error' : 'warn';
        return this.#log[level]({ ...line, err: error }, 'sync job paused, will retry');
      }
      case 'lost':
        return this.#log.warn(namesOf(item), 'sync job was taken over by another process or cancelled');
      default:
        return this.#log.info(namesOf(item), 'sync job released before its end, will continue');
    }
  }

  changedByOperator(what: 'retried' | 'cancelled', { guildId, id }: JobName, operator: string): void {
    this.#log.info({ guild_id: guildId, job_id: id, actor: operator }, `sync job ${what} by an operator`);
  }
}

const namesOf = ({ guildId, id, attempts, data }: JobItem) => ({
  guild_id: guildId,
  job_id: id,
  game_group_id: data.gameGroupId,
  attempts,
});
