import { call, GUILD } from '../start/01-set-up.ts';

await call('POST', `/api/v1/moderation/${GUILD}/game/unban`, { game_id: 7004, reason: 'Appeal accepted' });
