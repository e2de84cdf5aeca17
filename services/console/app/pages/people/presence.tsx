import type { Person } from '#clients/typescript/src/operations-types.ts';
import { Card } from '../../components/states.tsx';
import { durationText, Time } from '../../components/time.tsx';
import { personPageTexts as texts } from '../../texts.ts';

/** Where a player is now: the live server, and the open staff session. */
export function Presence({ player: { server, session } }: { player: Person }) {
  return (
    <Card title={texts.now}>
      {server ? (
        <dl class="facts">
          <dt>{texts.place}</dt>
          <dd>{server.place_id}</dd>
          <dt>{texts.server}</dt>
          <dd class="mono">{server.server_id}</dd>
          <dt>{texts.onServer}</dt>
          <dd>{texts.players(server.player_count, server.max_players)}</dd>
        </dl>
      ) : (
        <p class="hint">{texts.notInGame}</p>
      )}
      {session && (
        <p>
          {texts.onDuty} <Time at={session.started_at} />
          {session.idle_seconds > 0 && `, ${texts.idle(durationText(session.idle_seconds))}`}
        </p>
      )}
    </Card>
  );
}
