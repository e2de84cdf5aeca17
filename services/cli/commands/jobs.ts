import { type Job, JobAdminServiceService } from '#proto/gen/guild/members/v1/admin.ts';
import type { Command, Input, Output } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../pages.ts';
import { properties, time } from '../text.ts';

const list: Command = {
  name: 'jobs list',
  usage: `--guild ID [--unfinished] ${PAGE_USAGE}`,
  notes: ['--unfinished     only jobs that are queued, running or paused', ...PAGE_NOTES],
  options: { guild: { type: 'string' }, unfinished: { type: 'boolean' }, ...PAGE_OPTIONS },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const unfinished = input.flag('unfinished');
    const pages = readPageOptions(input);
    input.check();
    return listOutput(pages, {
      field: 'jobs',
      none: 'The guild has no such jobs.',
      headings: ['JOB', 'GROUP', 'STATE', 'DONE', 'CHANGED', 'FAILED', 'CREATED', 'LAST PROGRESS', 'CAUSE'],
      cells: (job) => [
        job.id,
        String(job.gameGroupId),
        job.state,
        `${job.done}/${job.total}`,
        String(job.changed),
        String(job.failed),
        time(job.createdAt),
        job.progressedAt === undefined ? '-' : time(job.progressedAt),
        causeOf(job),
      ],
      document: jobDocument,
      page: async ({ limit, cursor: position }) => {
        const { jobs, nextPosition } = await admin(connections).listJobs({ guildId, limit, position, unfinished });
        return { items: jobs, nextCursor: nextPosition };
      },
    });
  },
};

const CHANGE = { guild: { type: 'string' }, actor: { type: 'string' } } as const;

const retry: Command = {
  name: 'jobs retry',
  usage: '--guild ID JOB_ID [--actor NOTE]',
  argument: 'JOB_ID',
  options: CHANGE,
  run: async (input, connections) => {
    const request = named(input);
    const { job } = await admin(connections).retryJob(request);
    return jobOutput(required(job));
  },
};

const cancel: Command = {
  name: 'jobs cancel',
  usage: '--guild ID JOB_ID [--actor NOTE]',
  argument: 'JOB_ID',
  options: CHANGE,
  run: async (input, connections) => {
    const request = named(input);
    const { job } = await admin(connections).cancelJob(request);
    return jobOutput(required(job));
  },
};

export const jobCommands: readonly Command[] = [list, retry, cancel];

function admin(connections: Connections) {
  return connections.admin(JobAdminServiceService, 'members');
}

function named(input: Input) {
  const guildId = input.requiredText('guild');
  if (input.argument === undefined) input.fault('JOB_ID is required: jobs list shows it');
  input.check();
  return { guildId, id: input.argument ?? '', actor: input.actor };
}

/** Returns the job of a response. The generated protobuf types allow it to be missing; throws if it is. */
function required(job: Job | undefined): Job {
  if (!job) throw new Error('the response of the service contains no job');
  return job;
}

const causeOf = ({ causeCode, causeMessage }: Job) => (causeCode === undefined ? '-' : `${causeCode}: ${causeMessage}`);

function jobDocument(job: Job) {
  return {
    job_id: job.id,
    game_group_id: job.gameGroupId,
    state: job.state,
    total: job.total,
    done: job.done,
    changed: job.changed,
    failed: job.failed,
    attempts: job.attempts,
    cause: job.causeCode === undefined ? null : { code: job.causeCode, message: job.causeMessage ?? '' },
    created_at: job.createdAt,
    started_at: job.startedAt ?? null,
    progressed_at: job.progressedAt ?? null,
    finished_at: job.finishedAt ?? null,
  };
}

function jobOutput(job: Job): Output {
  const text = properties([
    ['Job', job.id],
    ['Group', String(job.gameGroupId)],
    ['State', job.state],
    ['Members', `${job.done} of ${job.total} done, ${job.changed} changed, ${job.failed} failed`],
    ['Cause', causeOf(job)],
    ['Created', time(job.createdAt)],
    ['Finished', job.finishedAt === undefined ? '-' : time(job.finishedAt)],
  ]);
  return { document: jobDocument(job), text };
}
