import { guild } from '../start/01-set-up.ts';

await guild.unmutePlayer({ game_id: 7011, reason: 'Enough' });
