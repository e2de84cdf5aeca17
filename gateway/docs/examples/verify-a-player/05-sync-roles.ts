import { guild } from '../start/01-set-up.ts';

const synced = await guild.syncRoles({ chat_id: '920000000000000005' });
console.log(synced.added, synced.removed);
