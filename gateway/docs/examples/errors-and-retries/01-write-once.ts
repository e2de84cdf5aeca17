import { randomUUID } from 'node:crypto';
import { guild } from '../start/01-set-up.ts';

export const mute = { game_id: 7011, reason: 'Spams the chat', duration: '1h' } as const;
export const idempotencyKey = randomUUID();

const first = await guild.mutePlayer(mute, { idempotencyKey });
const second = await guild.mutePlayer(mute, { idempotencyKey });
console.log('the same mute:', first.id === second.id);
