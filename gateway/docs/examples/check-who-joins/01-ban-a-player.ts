import { guild } from '../start/01-set-up.ts';

await guild.banPlayer({ game_id: 7004, reason: 'Used speed hacks', duration: '7d' });
