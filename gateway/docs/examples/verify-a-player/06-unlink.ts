import { guild } from '../start/01-set-up.ts';

await guild.unlinkAccount({ chat_id: '920000000000000005' });
