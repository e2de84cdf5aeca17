import type { PreviewResult, SyncJob } from '#clients/typescript/src/operations-types.ts';

/** What a preview found about one role. */
export interface Effect {
  gained: number;
  lost: number;
  unknown: number;
  members: PreviewResult['members'];
}

/** What a finished preview says about a role; undefined if the job is not finished. */
export function effectOf(job: SyncJob | undefined, roleId: string): Effect | undefined {
  if (job?.state !== 'done' || !job.result) return undefined;
  const { roles, members } = job.result;
  const counts = roles.find(({ role_id }) => role_id === roleId) ?? { gained: 0, lost: 0, unknown: 0 };
  const { gained, lost, unknown } = counts;
  return { gained, lost, unknown, members: members.filter(({ role_id }) => role_id === roleId) };
}
