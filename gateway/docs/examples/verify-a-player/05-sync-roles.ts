import { call, GUILD } from '../start/01-set-up.ts';

const synced = await call<{ added: string[]; removed: string[] }>('POST', '/api/v1/sync/roles', {
  guild_id: GUILD,
  chat_id: '920000000000000005',
});
console.log(synced.added, synced.removed);
