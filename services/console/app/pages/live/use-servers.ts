import { useEffect } from 'preact/hooks';
import { listServers } from '#clients/typescript/src/operations.ts';
import type { GameServer } from '#clients/typescript/src/operations-types.ts';
import type { ApiError } from '../../api/errors.ts';
import { useData } from '../../api/use-data.ts';
import { useGuild } from '../../shell/guild.tsx';

const REFRESH_MS = 15_000;
const MAX_SERVERS = 100;

export interface LiveServers {
  /** undefined until the first response. */
  list: readonly GameServer[] | undefined;
  hasMore: boolean;
  error: ApiError | undefined;
  reload: () => void;
}

/** The live servers, read again every 15 seconds: servers send their numbers with heartbeats. */
export function useServers(): LiveServers {
  const guild = useGuild();
  const { data, error, reload } = useData((signal) => listServers(guild.rest, { limit: MAX_SERVERS }, { signal }), []);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  return { list: data?.servers, hasMore: (data?.next_cursor ?? null) !== null, error, reload };
}
