import { guild } from '../start/01-set-up.ts';

await guild.unbanPlayer({ game_id: 7004, reason: 'Appeal accepted' });
