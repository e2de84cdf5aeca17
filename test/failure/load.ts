import { Agent, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';

export interface LoadRequest {
  name: string;
  method: string;
  path: string;
  key: string;
  guild: string;
  body?: object;
  /** The fields of a successful response. */
  status: number;
}

export interface Load {
  /** Requests with the expected response, by name. */
  good: Map<string, number>;
  /** The outcomes of the other requests. */
  failed: string[];
  /** Requests per second so far. */
  rate(): number;
  /** Stops sending and waits for requests in flight. */
  stop(): Promise<void>;
}

/** Limit on requests in flight: a slow machine sends fewer requests. */
const MAX_IN_FLIGHT = 200;
const TICK_MS = 10;
/** The requests in flight while the capacity is measured. */
const CAPACITY_CLIENTS = 8;
/**
 * Idle connections are closed after this time. Less than a drain: by then connections in use have announced their end, and a
 * request on another could arrive when it is being closed, which no server can prevent.
 */
export const IDLE_MS = 1_000;

/**
 * Sends requests at a constant rate over persistent connections, without retries, until it is stopped. The requests
 * of each `tickMs` milliseconds are sent at once: the longer it is, the more of them are in flight together.
 */
export function startLoad(api: string, perSecond: number, next: () => LoadRequest, tickMs = TICK_MS): Load {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  const good = new Map<string, number>();
  const failed: string[] = [];
  const inFlight = new Set<Promise<void>>();
  const started = performance.now();
  const over = new AbortController();
  let sent = 0;
  const send = async (asked: LoadRequest) => {
    try {
      const { status, text } = await ask(agent, api, asked);
      if (status === asked.status) good.set(asked.name, (good.get(asked.name) ?? 0) + 1);
      else failed.push(`${asked.name}: ${status} ${text}`);
    } catch (error) {
      failed.push(`${asked.name}: ${String(error)}`);
    }
  };
  const run = async () => {
    let skipped = 0;
    while (!over.signal.aborted) {
      const due = ((performance.now() - started) / 1000) * perSecond;
      while (sent + skipped < due) {
        if (inFlight.size >= MAX_IN_FLIGHT) {
          skipped++;
          continue;
        }
        const sending = send(next()).finally(() => inFlight.delete(sending));
        inFlight.add(sending);
        sent++;
      }
      await wait(tickMs);
    }
    await Promise.all(inFlight);
    agent.destroy();
  };
  const running = run();
  return {
    good,
    failed,
    rate: () => sent / ((performance.now() - started) / 1000),
    stop: () => {
      over.abort();
      return running;
    },
  };
}

/**
 * Sends `count` requests, eight at a time, each as soon as another one has its response, whatever its status. Returns the requests
 * per second.
 */
export async function measureCapacity(api: string, count: number, next: () => LoadRequest): Promise<number> {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  const started = performance.now();
  let left = count;
  const client = async () => {
    while (left-- > 0) await ask(agent, api, next());
  };
  await Promise.all(Array.from({ length: CAPACITY_CLIENTS }, client));
  agent.destroy();
  return count / ((performance.now() - started) / 1_000);
}

async function ask(
  agent: Agent,
  api: string,
  { method, path, key, guild, body }: LoadRequest,
): Promise<{ status: number | undefined; text: string }> {
  const content = body && JSON.stringify({ guild_id: guild, ...body });
  const headers = {
    'x-api-key': key,
    'x-guild-id': guild,
    ...(content !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }),
  };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(api + path, { agent, method, headers }, resolve);
    outgoing.on('error', reject);
    outgoing.end(content);
  });
  return { status: response.statusCode, text: JSON.stringify(await json(response)) };
}
