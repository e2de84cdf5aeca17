import type { GameServer } from '#clients/typescript/src/operations-types.ts';
import { PersonName } from '../../components/person.tsx';
import { Card, EmptyState, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { durationText } from '../../components/time.tsx';
import { liveTexts as texts } from '../../texts.ts';
import type { Players } from './use-players.ts';
import type { LiveServers } from './use-servers.ts';

/** The live servers by place, those with the most players first. */
export function Servers(props: { servers: LiveServers; playersOf: ReadonlyMap<string, Players> }) {
  const { servers, playersOf } = props;
  const { list, error, reload, hasMore } = servers;
  if (error && !list) return <ErrorNote error={error} onRetry={reload} />;
  if (!list) return <Skeleton rows={5} />;
  if (list.length === 0) {
    return (
      <Card>
        <EmptyState icon="server" title={texts.emptyTitle}>
          {texts.empty}
        </EmptyState>
      </Card>
    );
  }
  const places = Object.entries(Object.groupBy(list, ({ place_id }) => place_id)).map(([place, group = []]) => ({
    place: Number(place),
    group: group.toSorted((a, b) => b.player_count - a.player_count),
    players: group.reduce((sum, { player_count }) => sum + player_count, 0),
  }));
  return (
    <div class="stack-wide">
      {hasMore && <Note>{texts.morePages}</Note>}
      {places
        .toSorted((a, b) => b.players - a.players)
        .map(({ place, group, players }) => (
          <Card
            key={place}
            isFlush
            title={texts.place(place)}
            description={`${texts.servers(group.length)}, ${texts.players(players)}`}
          >
            <ul class="rows">
              {group.map((server) => (
                <Server key={server.server_id} server={server} players={playersOf.get(server.server_id)} />
              ))}
            </ul>
          </Card>
        ))}
    </div>
  );
}

function Server({ server, players }: { server: GameServer; players: Players | undefined }) {
  const { server_id, player_count, max_players, fps, plugin_version, started_at } = server;
  const facts = [
    fps !== null && texts.fps(fps),
    started_at !== null && texts.up(durationText(Date.now() / 1_000 - started_at)),
    plugin_version !== null && texts.version(plugin_version),
  ].filter(Boolean);
  return (
    <li class="row server">
      <div class="row-main">
        <strong title={server_id}>{texts.server(server_id)}</strong>
        <p class="hint">{facts.join(' · ')}</p>
      </div>
      <div class="server-players">
        <span>{texts.playersOf(player_count, max_players)}</span>
        <span class="progress-track" aria-hidden="true">
          <span style={{ width: `${Math.min(100, (player_count / Math.max(1, max_players)) * 100)}%` }} />
        </span>
      </div>
      {players !== undefined && (
        <details class="more server-who">
          <summary>{texts.whoPlays}</summary>
          {players === null && <p class="hint">{texts.noList}</p>}
          {players?.length === 0 && <p class="hint">{texts.nobody}</p>}
          <ul class="names">
            {players?.map(({ game_id, username }) => (
              <li key={game_id}>
                <PersonName gameId={game_id} name={username} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}
