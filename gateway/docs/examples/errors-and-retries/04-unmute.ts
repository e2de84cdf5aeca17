import { call, GUILD } from '../start/01-set-up.ts';

await call('POST', `/api/v1/moderation/${GUILD}/game/unmute`, { game_id: 7011, reason: 'Enough' });
