import { withPurpose } from '#kit/context.ts';
import { asApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { whileRenewing } from '#kit/resilience/renewing.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { JobError, SyncJob } from '../store/sync-jobs.ts';
import * as store from '../store/sync-jobs.ts';
import type { JobEvents } from '../telemetry/jobs.ts';
import type { GroupSync } from './group-sync.ts';

/** What other replicas have queued or left behind is found within this. */
const LOOK_EVERY_MS = 1_000;
const MOST_AT_ONCE = 4;
/** After this long without a sign of life a job is another replica's to go on with. */
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
const SHORTEST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;

export interface JobRunnerOptions {
  database: Queryable;
  groupSync: GroupSync;
  /** UUIDs. */
  newHolder: () => string;
  events: JobEvents;
  /** A job that has made no progress for so long has failed. */
  giveUpSeconds: number;
}

/** Thrown when another replica has the job by now. */
class LostJob extends Error {}

/** Takes jobs that are due, of all guilds, and works at a few of them at once. */
export class JobRunner implements Part {
  readonly name = 'jobs';
  readonly #options: JobRunnerOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isWanted = false;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.wake();
  }

  /** Jobs are let go of at their next member, for other replicas. */
  async drain(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(this.#running);
  }

  /** There may be something to do. */
  wake(): void {
    if (this.#stopping.signal.aborted) return;
    this.#isWanted = true;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#stopping.signal.aborted) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.wake(), this.#isWanted ? 0 : LOOK_EVERY_MS).unref();
    });
  }

  async #look(): Promise<void> {
    const { database, events } = this.#options;
    try {
      while (this.#isWanted) {
        this.#isWanted = false;
        while (this.#running.size < MOST_AT_ONCE && (await this.#takeOne()));
      }
      events.counted(await store.unfinishedJobs(database));
    } catch (error) {
      events.unreachable(error);
    }
  }

  /** False when there was nothing to take. */
  async #takeOne(): Promise<boolean> {
    const { database, newHolder } = this.#options;
    if (this.#stopping.signal.aborted) return false;
    const holder = newHolder();
    const job = await store.takeJob(database, holder, LEASE_MS);
    if (!job) return false;
    const running = this.#run(job, holder).finally(() => {
      this.#running.delete(running);
      this.wake();
    });
    this.#running.add(running);
    return true;
  }

  /** Never rejects: what can't be written down now, another replica finds when the lease has ended. */
  async #run(job: SyncJob, holder: string): Promise<void> {
    const { events } = this.#options;
    events.taken(job);
    try {
      await this.#work(job, holder);
    } catch (error) {
      if (error instanceof LostJob) events.lost(job);
      else await this.#pause(job, holder, error).catch((failure: unknown) => events.unreachable(failure));
    }
  }

  async #work(job: SyncJob, holder: string): Promise<void> {
    const { database, groupSync, events } = this.#options;
    const { position, done, changed, failed, errors } = job;
    const progress = { position, done, changed, failed, errors: [...errors] };
    const saved = { ...progress, told: errors.length };
    const lost = new AbortController();
    const save = async () => {
      const told = progress.errors.length > saved.told ? progress.errors : undefined;
      const isSaved = await store.saveProgress(database, job, holder, { ...progress, errors: told }, LEASE_MS);
      if (!isSaved) throw new LostJob();
      events.advanced({
        done: progress.done - saved.done,
        changed: progress.changed - saved.changed,
        failed: progress.failed - saved.failed,
      });
      Object.assign(saved, progress, { told: progress.errors.length });
      job.attempts = 0;
    };
    const keep = async () => {
      // Where it fails, the next one may get through before the lease ends.
      if (!(await store.keepJob(database, job, holder, LEASE_MS))) lost.abort();
    };
    await whileRenewing(RENEW_MS, keep, async () => {
      const signal = AbortSignal.any([this.#stopping.signal, lost.signal]);
      const isWhole = await withPurpose('job', () => groupSync.run({ job, progress, save, signal }));
      if (lost.signal.aborted) throw new LostJob();
      if (isWhole) await this.#finish(job, holder);
      else await store.releaseJob(database, job, holder);
    });
  }

  /** It waits the longer the more often it was in vain, and as long as whoever failed asks for. */
  async #pause(job: SyncJob, holder: string, thrown: unknown): Promise<void> {
    const { database, events, giveUpSeconds } = this.#options;
    const error = asApiError(thrown);
    const cause: JobError = { chat_id: null, role_id: null, code: error.code, message: error.message };
    const backoff = Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** job.attempts);
    const asked = Math.min(LONGEST_PAUSE_MS, 1000 * (error.retryAfter ?? 0));
    const waitMs = Math.max(backoff, asked);
    const state = await store.pauseJob(database, job, holder, { cause, waitMs, giveUpSeconds });
    if (state === 'paused') events.paused(job, error);
    else if (state === 'failed') events.finished(job, { state, cause });
    else events.lost(job);
  }

  async #finish(job: SyncJob, holder: string): Promise<void> {
    const { database, events } = this.#options;
    if (await store.finishJob(database, job, holder)) events.finished(job, { state: 'done', cause: null });
    else events.lost(job);
  }
}
