import { useEffect, useRef, useState } from 'preact/hooks';
import { getServer } from '#clients/typescript/src/operations.ts';
import type { GameServer, ServerPlayer } from '#clients/typescript/src/operations-types.ts';
import { useGuild } from '../../shell/guild.tsx';
import type { FeedEntry } from './event-feed.tsx';

/** Players are read of this many servers, those with the most players, to stay within the limits of requests. */
const MAX_WATCHED = 8;

export type Players = readonly ServerPlayer[] | null;

/**
 * The players of the largest servers by server ID, read whenever the list of servers is. Reports who came and who left
 * since then.
 */
export function usePlayers(
  servers: readonly GameServer[] | undefined,
  report: (entries: readonly FeedEntry[]) => void,
): ReadonlyMap<string, Players> {
  const guild = useGuild();
  const [players, setPlayers] = useState<ReadonlyMap<string, Players>>(new Map());
  const before = useRef<ReadonlyMap<string, Players>>(new Map());
  useEffect(() => {
    if (!servers) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const watched = servers.toSorted((a, b) => b.player_count - a.player_count).slice(0, MAX_WATCHED);
    const read = async ({ server_id: serverId }: GameServer): Promise<[string, Players] | undefined> => {
      try {
        return [serverId, (await getServer(guild.rest, { serverId }, { signal })).players];
      } catch {
        // The server may have gone in the meantime; the list will say so.
        return undefined;
      }
    };
    const update = async () => {
      const results = (await Promise.all(watched.map(read))).filter((result) => result !== undefined);
      if (signal.aborted) return;
      const now = new Map(results);
      const moves = movesBetween(before.current, now);
      before.current = now;
      setPlayers(now);
      if (moves.length > 0) report(moves);
    };
    void update();
    return () => controller.abort();
  }, [servers]);
  return players;
}

/** Who joined and left servers that both states have. */
function movesBetween(before: ReadonlyMap<string, Players>, now: ReadonlyMap<string, Players>): FeedEntry[] {
  const at = Math.floor(Date.now() / 1_000);
  return [...now].flatMap(([serverId, players]) => {
    const earlier = before.get(serverId);
    if (!earlier || !players) return [];
    const missingIn = (list: readonly ServerPlayer[]) => (player: ServerPlayer) =>
      !list.some(({ game_id }) => game_id === player.game_id);
    const entry = (kind: 'joined' | 'left') => (player: ServerPlayer) => ({
      kind,
      id: `${kind} ${serverId} ${player.game_id} ${at}`,
      at,
      player,
      serverId,
    });
    return [
      ...players.filter(missingIn(earlier)).map(entry('joined')),
      ...earlier.filter(missingIn(players)).map(entry('left')),
    ];
  });
}
