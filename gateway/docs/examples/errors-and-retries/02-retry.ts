import { setTimeout as sleep } from 'node:timers/promises';
import { mute } from './01-write-once.ts';

const RETRIED = [408, 429, 500, 502, 503, 504];

/** Repeats a request that failed for a reason that passes, and returns the last response. */
async function withRetries(send: () => Promise<Response>): Promise<Response> {
  for (let attempt = 0; ; attempt += 1) {
    const response = await send().catch(() => undefined);
    if (response && !RETRIED.includes(response.status)) return response;
    if (attempt === 4) throw new Error(`still fails: ${response?.status ?? 'no response'}`);
    const seconds = response?.headers.get('Retry-After') ?? Math.random() * Math.min(30, 0.5 * 2 ** attempt);
    await sleep(Number(seconds) * 1000);
  }
}

const response = await withRetries(mute);
const { data } = (await response.json()) as { data: { id: number } };
console.log(response.status, data.id);
