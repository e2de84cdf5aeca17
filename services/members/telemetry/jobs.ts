import { type ApiError, isServerError } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { JobError, JobName, JobState, SyncJob, UnfinishedJobs } from '../store/sync-jobs.ts';

const UNFINISHED = ['queued', 'running', 'paused'] as const satisfies JobState[];

/** What happens to jobs: metrics and a line in the log for each. */
export class JobEvents {
  readonly #members;
  readonly #finished;
  readonly #pauses;
  readonly #log: Logger;
  #unfinished: readonly UnfinishedJobs[] = [];

  constructor(metrics: Metrics, log: Logger) {
    this.#members = metrics.counterOf('members_sync_job_members_total', 'Members that jobs dealt with', 'outcome', [
      'done',
      'changed',
      'failed',
    ]);
    this.#finished = metrics.counterOf('members_sync_jobs_finished_total', 'Jobs that came to an end', 'outcome', [
      'done',
      'failed',
    ]);
    this.#pauses = metrics.counter('members_sync_job_pauses_total', 'Times that a job could not go on', ['code']);
    metrics.gauge('members_sync_jobs', 'Unfinished jobs of all guilds, by state', ['state'], (gauge) => {
      const counts = new Map(this.#unfinished.map(({ state, count }) => [state, count]));
      for (const state of UNFINISHED) gauge.set({ state }, counts.get(state) ?? 0);
    });
    metrics.gauge(
      'members_sync_job_oldest_unfinished_seconds',
      'Time since the oldest unfinished job was queued; 0 when there is none',
      [],
      (gauge) => gauge.set(Math.max(0, ...this.#unfinished.map(({ oldestSeconds }) => oldestSeconds))),
    );
    metrics.gauge(
      'members_sync_job_longest_stall_seconds',
      'Time since the last progress of the started, unfinished job that has stood still for longest; 0 when there is none',
      [],
      (gauge) => gauge.set(Math.max(0, ...this.#unfinished.map(({ stalledSeconds }) => stalledSeconds))),
    );
    this.#log = log;
  }

  queued({ guildId, id }: JobName, gameGroupId: number): void {
    this.#log.info({ guild_id: guildId, job_id: id, game_group_id: gameGroupId }, 'a job was queued');
  }

  /** What is unfinished now, of all replicas. */
  counted(jobs: readonly UnfinishedJobs[]): void {
    this.#unfinished = jobs;
  }

  taken(job: SyncJob): void {
    this.#log.info(namesOf(job), 'a job was taken');
  }

  /** Members since the last time; who changed and who failed may be the same. */
  advanced({ done, changed, failed }: { done: number; changed: number; failed: number }): void {
    this.#members.inc({ outcome: 'done' }, done);
    this.#members.inc({ outcome: 'changed' }, changed);
    this.#members.inc({ outcome: 'failed' }, failed);
  }

  /** It is tried again later. */
  paused(job: SyncJob, error: ApiError): void {
    this.#pauses.inc({ code: error.code });
    const level = error.code === 'INTERNAL' || !isServerError(error) ? 'error' : 'warn';
    this.#log[level]({ ...namesOf(job), code: error.code, err: error }, 'a job is paused');
  }

  finished(job: SyncJob, { state, cause }: { state: 'done' | 'failed'; cause: JobError | null }): void {
    this.#finished.inc({ outcome: state });
    const line = { ...namesOf(job), outcome: state, code: cause?.code };
    if (state === 'done') this.#log.info(line, 'a job is done');
    else this.#log.error(line, 'a job is given up');
  }

  /** Another replica has it by now, since this one was still for too long, or an operator cancelled it. */
  lost(job: SyncJob): void {
    this.#log.warn(namesOf(job), 'job was taken over by another process, or cancelled');
  }

  changedByOperator(what: 'retried' | 'cancelled', { guildId, id }: JobName, actor: string): void {
    this.#log.info({ guild_id: guildId, job_id: id, actor }, `job ${what} by an operator`);
  }

  /** Neither found nor written down: it is looked for again. */
  unreachable(error: unknown): void {
    this.#log.warn({ err: error }, 'jobs could not be looked for');
  }
}

const namesOf = ({ guildId, id, gameGroupId, attempts }: SyncJob) => ({
  guild_id: guildId,
  job_id: id,
  game_group_id: gameGroupId,
  attempts,
});
