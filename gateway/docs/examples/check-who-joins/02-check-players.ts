import { guild } from '../start/01-set-up.ts';

const { results } = await guild.getPlayerStatuses({ game_ids: [7001, 7004], place_id: 40001 });
for (const [gameId, status] of Object.entries(results)) {
  console.log(gameId, status.ban_info?.reason ?? 'may play');
}
