import { z } from 'zod';
import type { DiscordApi } from '../api.ts';

const infoSchema = z.object({
  url: z.url({ protocol: /^wss?$/ }),
  shards: z.int().min(1).max(10_000),
  session_start_limit: z.object({
    remaining: z.int().min(0),
    reset_after: z.number().min(0),
    max_concurrency: z.int().min(1).max(1_000),
  }),
});

/** How the chat platform's websocket is reached, and how many sessions may begin. */
export interface GatewayInfo {
  url: string;
  /** The number of shards that the platform recommends for the number of guilds. */
  shards: number;
  /** How many sessions may still begin until `resetMs` from now. */
  remaining: number;
  resetMs: number;
  /** The number of shards that may begin a session at the same time, within five seconds. */
  concurrency: number;
}

export async function readGatewayInfo(api: DiscordApi): Promise<GatewayInfo> {
  const response = await api.call('/gateway/bot', { guildId: '', limit: 'gateway' });
  const { url, shards, session_start_limit: limit } = api.host.expect(response, infoSchema);
  const { remaining, reset_after: resetMs, max_concurrency: concurrency } = limit;
  return { url, shards, remaining, resetMs, concurrency };
}
