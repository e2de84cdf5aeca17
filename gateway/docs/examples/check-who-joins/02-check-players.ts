import { call, GUILD } from '../start/01-set-up.ts';

interface Status {
  banned: boolean;
  ban_info: { reason: string } | null;
  flagged: boolean;
}

const { results } = await call<{ results: Record<string, Status> }>('POST', `/api/v1/moderation/${GUILD}/game/status`, {
  game_ids: [7001, 7004],
  place_id: 40001,
});
for (const [gameId, status] of Object.entries(results)) {
  console.log(gameId, status.ban_info?.reason ?? 'may play');
}
