import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { wholeNumber } from '../random.ts';

export interface HotKey {
  id: string;
  guildId: string;
  secret: string;
}

/** One use of a key at a gateway. */
export interface Use {
  key: HotKey;
  gateway: number;
  /** Start time, from performance.now(). */
  at: number;
  status: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

let calls = 0;

/**
 * The response of a gateway at `host:port`. Each request appears to come from another address if the gateway
 * trusts X-Forwarded-For, so that no limit per address applies.
 */
export function use(gateway: string, secret: string): Promise<{ status: number; retryAfter: string | undefined }> {
  calls += 1;
  const address = `10.${(calls >> 16) & 0xff}.${(calls >> 8) & 0xff}.${calls & 0xff}`;
  const headers = { 'x-api-key': secret, 'x-forwarded-for': address };
  return new Promise((resolve, reject) => {
    const call = request(`http://${gateway}/api/v1/whoami`, { agent, headers }, (response) => {
      const answer = { status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] };
      response
        .resume()
        .once('end', () => resolve(answer))
        .once('error', reject);
    });
    call.once('error', reject).end();
  });
}

/** The statuses of one request per key and gateway; a 503 is retried. */
export async function statuses(gateways: readonly string[], secrets: readonly string[]): Promise<number[]> {
  const seen = new Set<number>();
  for (const gateway of gateways) {
    await forEach(secrets, 16, async (secret) => seen.add(await statusInTheEnd(gateway, secret)));
  }
  return [...seen];
}

/** On a busy machine single verifications may take too long. */
async function statusInTheEnd(gateway: string, secret: string): Promise<number> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const { status } = await use(gateway, secret);
    if (status !== 503) return status;
    await pause(1_000);
  }
  return 503;
}

/** Runs `work` for each item, several concurrently. */
export async function forEach<Item>(items: readonly Item[], atOnce: number, work: (item: Item) => Promise<unknown>) {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Uses random keys at random gateways, as fast as they respond. */
export function keepHot(gateways: readonly string[], keys: readonly HotKey[], random: () => number) {
  const uses: Use[] = [];
  const stopped = new AbortController();
  const worker = async () => {
    while (!stopped.signal.aborted) {
      const gateway = wholeNumber(random, gateways.length);
      const key = keys[wholeNumber(random, keys.length)] as HotKey;
      const at = performance.now();
      const { status } = await use(gateways[gateway] ?? '', key.secret);
      uses.push({ key, gateway, at, status });
    }
  };
  const working = Promise.all(Array.from({ length: 8 }, worker));
  return {
    uses,
    stop: async () => {
      stopped.abort();
      await working;
    },
  };
}
