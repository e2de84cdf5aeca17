import { useEffect, useState } from 'preact/hooks';
import type { Event } from '#clients/typescript/src/operations-types.ts';
import { followEvents, type StreamState } from '../../api/event-stream.ts';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { liveTexts as texts } from '../../texts.ts';
import { EventFeed, type FeedEntry } from './event-feed.tsx';
import { NearLimits } from './near-limits.tsx';
import { Servers } from './servers.tsx';
import { usePlayers } from './use-players.ts';
import { useServers } from './use-servers.ts';

const MAX_ENTRIES = 100;

/** Servers and players, and what happens, as it happens. */
export function LivePage() {
  const guild = useGuild();
  const [entries, setEntries] = useState<readonly FeedEntry[]>([]);
  const [stream, setStream] = useState<StreamState>('connecting');
  const servers = useServers();
  const add = (added: readonly FeedEntry[]) => setEntries((all) => [...added, ...all].slice(0, MAX_ENTRIES));
  const playersOf = usePlayers(servers.list, add);
  useEffect(() => {
    const controller = new AbortController();
    const onEvent = (event: Event) => {
      add([{ kind: 'event', id: event.id, at: event.created_at, event }]);
      if (event.type?.startsWith('server.')) servers.reload();
    };
    void followEvents({ guildId: guild.id, onEvent, onState: setStream, signal: controller.signal });
    return () => controller.abort();
  }, [guild.id]);
  return (
    <Page title={texts.title} description={texts.description}>
      <NearLimits />
      <div class="columns">
        <Servers servers={servers} playersOf={playersOf} />
        <EventFeed entries={entries} stream={stream} />
      </div>
    </Page>
  );
}
