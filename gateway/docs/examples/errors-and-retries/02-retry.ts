import { guild } from '../start/01-set-up.ts';
import { idempotencyKey, mute } from './01-write-once.ts';

// Five attempts within a minute are the default.
const repeated = await guild.mutePlayer(mute, { idempotencyKey, maxAttempts: 3, totalTimeoutMs: 20_000 });
console.log(repeated.id);
