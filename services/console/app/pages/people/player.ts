import { getPerson } from '#clients/typescript/src/operations.ts';
import type { Person, Punishment } from '#clients/typescript/src/operations-types.ts';
import { type Loaded, useData } from '../../api/use-data.ts';
import { useGuild } from '../../shell/guild.tsx';
import { listActive, type PunishmentKind } from '../moderation/punishments.ts';

export interface PlayerData {
  player: Person;
  /** The active bans and mutes: a player may have one in each place. */
  punishments: Record<PunishmentKind, Punishment[]>;
}

const MAX_SHOWN = 10;

/** What the services know about a game account; null if the person has none. */
export function usePlayer(gameId: number | null): Loaded<PlayerData | null> {
  const { rest } = useGuild();
  return useData<PlayerData | null>(
    async (signal) => {
      if (gameId === null) return null;
      const args = { game_id: String(gameId), limit: MAX_SHOWN };
      const [player, bans, mutes] = await Promise.all([
        getPerson(rest, { gameId }, { signal }),
        listActive(rest, 'ban', args, signal),
        listActive(rest, 'mute', args, signal),
      ]);
      return { player, punishments: { ban: bans.rows, mute: mutes.rows } };
    },
    [gameId],
  );
}
