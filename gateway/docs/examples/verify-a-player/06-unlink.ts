import { call, GUILD } from '../start/01-set-up.ts';

await call('POST', '/api/v1/verification/unlink', { guild_id: GUILD, chat_id: '920000000000000005' });
