import { call, GUILD } from '../start/01-set-up.ts';

await call('POST', `/api/v1/moderation/${GUILD}/game/ban`, {
  game_id: 7004,
  reason: 'Used speed hacks',
  duration: '7d',
});
