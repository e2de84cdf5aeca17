import { randomUUID } from 'node:crypto';
import { API, GUILD, KEY } from '../start/01-set-up.ts';

const idempotencyKey = randomUUID();

export const mute = () =>
  fetch(`${API}/api/v1/moderation/${GUILD}/game/mute`, {
    method: 'POST',
    headers: { 'X-API-Key': KEY, 'Idempotency-Key': idempotencyKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ game_id: 7011, reason: 'Spams the chat', duration: '1h' }),
  });

const [first, second] = [await mute(), await mute()];
console.log(first.status, second.headers.get('Idempotency-Replayed'));
