import { z } from 'zod';
import { unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { currentOperator } from '#kit/grpc/operators.ts';
import { checked } from '#kit/http/validate.ts';
import type { Job, JobAdminServiceService } from '#proto/gen/guild/members/v1/admin.ts';
import { guildId } from '#proto/rest/schemas.ts';
import type { JobAdmin } from '../domain/job-admin.ts';
import type { ListedJob } from '../store/job-admin.ts';

const id = z.uuid();
const actor = z.string().min(1).max(100);
const listJobs = z.object({
  guildId,
  limit: z.int().min(1).max(1_000),
  position: z.string().max(200),
  unfinished: z.boolean(),
});
const changeJob = z.object({ guildId, id, actor });

/** The gRPC methods of guild.members.v1.JobAdminService, which guildctl calls. */
export function jobAdminMethods(admin: JobAdmin): GrpcHandlers<typeof JobAdminServiceService> {
  return {
    async listJobs(message) {
      const { guildId, ...page } = checked(listJobs, message, 'request');
      const { jobs, next } = await admin.list(guildId, page);
      return { jobs: jobs.map(jobMessage), nextPosition: next };
    },
    async retryJob(message) {
      const { guildId, id } = checked(changeJob, message, 'request');
      return { job: jobMessage(await admin.retry({ guildId, id }, currentOperator())) };
    },
    async cancelJob(message) {
      const { guildId, id } = checked(changeJob, message, 'request');
      return { job: jobMessage(await admin.cancel({ guildId, id }, currentOperator())) };
    },
  };
}

function jobMessage({ cause, createdAt, startedAt, progressedAt, finishedAt, ...job }: ListedJob): Job {
  const seconds = (time: Date | null) => (time ? unixSeconds(time) : undefined);
  return {
    id: job.id,
    gameGroupId: job.gameGroupId,
    state: job.state,
    total: job.total,
    done: job.done,
    changed: job.changed,
    failed: job.failed,
    attempts: job.attempts,
    causeCode: cause?.code,
    causeMessage: cause?.message,
    createdAt: unixSeconds(createdAt),
    startedAt: seconds(startedAt),
    progressedAt: seconds(progressedAt),
    finishedAt: seconds(finishedAt),
  };
}
