import type { Event, ServerPlayer } from '#clients/typescript/src/operations-types.ts';
import type { StreamState } from '../../api/event-stream.ts';
import { PersonName } from '../../components/person.tsx';
import { Badge, Card, EmptyState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { liveTexts as texts } from '../../texts.ts';
import { EventSentence } from './event-sentence.tsx';

/** An event, or a player who came or left. */
export type FeedEntry =
  | { kind: 'event'; id: string; at: number; event: Event }
  | { kind: 'joined' | 'left'; id: string; at: number; player: ServerPlayer; serverId: string };

const STATES = {
  connecting: { kind: 'plain', text: texts.connecting },
  open: { kind: 'good', text: texts.connected },
  interrupted: { kind: 'warn', text: texts.interrupted },
} as const;

/** What happened since the page was opened, the newest first. */
export function EventFeed({ entries, stream }: { entries: readonly FeedEntry[]; stream: StreamState }) {
  const { kind, text } = STATES[stream];
  return (
    <Card isFlush title={texts.events} actions={<Badge kind={kind}>{text}</Badge>}>
      {entries.length === 0 && (
        <EmptyState icon="live" title={texts.noEventsTitle}>
          {texts.noEvents}
        </EmptyState>
      )}
      <ol class="rows feed" aria-live="polite" aria-label={texts.events}>
        {entries.map((entry) => (
          <li key={entry.id} class="row feed-entry">
            <div class="row-main">
              {entry.kind === 'event' ? (
                <EventSentence event={entry.event} />
              ) : (
                <>
                  <PersonName gameId={entry.player.game_id} name={entry.player.username} />{' '}
                  {texts[entry.kind](texts.server(entry.serverId))}
                </>
              )}
            </div>
            <span class="hint">
              <Time at={entry.at} format="clock" />
            </span>
          </li>
        ))}
      </ol>
    </Card>
  );
}
