import { z } from 'zod';
import { CALL_TOKEN_HEADER } from '#kit/grpc/call-token.ts';
import { within } from '#kit/resilience/deadline.ts';
import type { Process } from '../../access.ts';
import { Page } from './exposition.ts';
import { figuresOf } from './figures.ts';
import { type Lookup, replicasOf } from './replicas.ts';
import type { KeyCount, View } from './view.ts';

const TIMEOUT_MS = 2_000;
const MAX_KEYS = 20;
const GATEWAY = 'gateway';
const KEYS_PATH = '/keys';

const keyCount = z.object({ key_id: z.string(), requests: z.number(), rejected: z.number() });
const keysPage = z.object({ data: z.object({ busiest: z.array(keyCount), rejected: z.array(keyCount) }) });

/** The metrics of a process, or the reason why the metrics could not be read. */
export interface Sample {
  process: Process;
  page?: Page;
  /**
   * The most active API keys of a gateway; null if the gateway rejects the token or there is no token. Empty for other
   * processes.
   */
  keys: KeyCount[] | null;
  reason?: string;
}

export interface Sampling {
  now: () => number;
  /** Returns the token with which operators read a page of a process's admin port; undefined if there is no token. */
  tokenFor: (process: string, path: string) => string | undefined;
  find?: Lookup;
}

/** Queries all replicas of all processes concurrently. Each replica and DNS have two seconds to respond. */
export async function takeSamples(processes: readonly Process[], sampling: Sampling): Promise<Sample[]> {
  const samples = processes.map(async (process): Promise<Sample[]> => {
    const replicas = await findReplicas(process, sampling.find);
    if (replicas.length === 0) return [{ process, keys: [], reason: 'its name has no address' }];
    return Promise.all(replicas.map((replica) => takeSample(replica, sampling)));
  });
  return (await Promise.all(samples)).flat();
}

/** Returns the replicas of a process; an empty list if the host name is unknown or DNS does not respond. */
function findReplicas(process: Process, find?: Lookup): Promise<Process[]> {
  return within(TIMEOUT_MS, replicasOf(process, find)).catch(() => []);
}

async function takeSample(process: Process, { now, tokenFor }: Sampling): Promise<Sample> {
  try {
    const metrics = await read(`${process.url}/metrics`);
    if (!metrics.ok) return { process, keys: [], reason: `HTTP status ${metrics.status}` };
    const page = new Page(metrics.text, now());
    // Only gateways report the requests of API keys, and only they have this metric.
    const isGateway = page.lines('gateway_key_stream_alive').length > 0;
    const keys = isGateway ? await readKeys(process, tokenFor(GATEWAY, KEYS_PATH)) : [];
    return { process, page, keys };
  } catch {
    return { process, keys: [], reason: 'no response' };
  }
}

async function readKeys({ url }: Process, token: string | undefined): Promise<KeyCount[] | null> {
  if (token === undefined) return null;
  const { ok, text } = await read(`${url}${KEYS_PATH}`, { [CALL_TOKEN_HEADER]: token });
  if (!ok) return null;
  const { busiest, rejected } = keysPage.parse(JSON.parse(text)).data;
  return [...new Map([...busiest, ...rejected].map((count) => [count.key_id, count])).values()];
}

async function read(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ ok: boolean; status: number; text: string }> {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error', headers });
  return { ok: response.ok, status: response.status, text: await response.text() };
}

/** Builds the view from two rounds of samples. A replica that is only in the later round has no figures yet. */
export function viewOf(before: readonly Sample[], after: readonly Sample[], now: number): View {
  const processes = after.map(({ process, page, reason }) => {
    const earlier = before.find((sample) => sample.process.url === process.url)?.page;
    const figures = page && earlier ? figuresOf(earlier, page) : null;
    return { name: process.name, address: process.url, figures, reason: figures ? null : (reason ?? 'no figures yet') };
  });
  return { at: Math.floor(now / 1000), processes, keys: keysOf(after) };
}

/**
 * Returns the API keys with the most requests and the most rejected requests of all gateways; null if a gateway
 * rejected the token.
 */
function keysOf(samples: readonly Sample[]): View['keys'] {
  if (samples.some(({ keys }) => keys === null)) return null;
  const sums = new Map<string, KeyCount>();
  for (const { key_id, requests, rejected } of samples.flatMap(({ keys }) => keys ?? [])) {
    const sum = sums.get(key_id) ?? { key_id, requests: 0, rejected: 0 };
    sums.set(key_id, { key_id, requests: sum.requests + requests, rejected: sum.rejected + rejected });
  }
  const top = (by: 'requests' | 'rejected') =>
    [...sums.values()]
      .filter((count) => count[by] > 0)
      .toSorted((one, other) => other[by] - one[by])
      .slice(0, MAX_KEYS);
  return { busiest: top('requests'), rejected: top('rejected') };
}
