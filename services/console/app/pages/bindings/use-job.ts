import { useEffect, useState } from 'preact/hooks';
import { getSyncJob } from '#clients/typescript/src/operations.ts';
import type { SyncJob } from '#clients/typescript/src/operations-types.ts';
import { type ApiError, isAbort } from '../../api/errors.ts';
import { asApiError } from '../../api/use-data.ts';
import { useGuild } from '../../shell/guild.tsx';

const FIRST_POLL_MS = 300;
const MAX_POLL_MS = 3_000;

export interface JobState {
  job: SyncJob | undefined;
  error: ApiError | undefined;
}

/** True if a job will not change any more. */
export const isOver = ({ state }: SyncJob): boolean => state === 'done' || state === 'failed';

/** Follows a job until its end. */
export function useJob(jobId: string | undefined): JobState {
  const { rest } = useGuild();
  const [state, setState] = useState<JobState>({ job: undefined, error: undefined });
  useEffect(() => {
    setState({ job: undefined, error: undefined });
    if (jobId === undefined) return undefined;
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const poll = async (delay: number) => {
      try {
        const job = await getSyncJob(rest, { jobId }, { signal: controller.signal });
        if (controller.signal.aborted) return;
        setState({ job, error: undefined });
        if (!isOver(job)) timer = setTimeout(() => void poll(Math.min(delay * 1.5, MAX_POLL_MS)), delay);
      } catch (error) {
        if (isAbort(error) || controller.signal.aborted) return;
        const failure = asApiError(error);
        setState(({ job }) => ({ job, error: failure }));
        // Jobs run on without anybody who watches: after a failed look the next one may succeed.
        if (isTemporary(failure)) timer = setTimeout(() => void poll(MAX_POLL_MS), MAX_POLL_MS);
      }
    };
    void poll(FIRST_POLL_MS);
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [jobId]);
  return state;
}

const isTemporary = ({ status, code }: ApiError) => status === 0 || status >= 500 || code === 'RATE_LIMITED';
