import { z } from 'zod';
import { within } from '#kit/deadline.ts';
import type { Process } from '../connections.ts';
import { Page } from './exposition.ts';
import { figuresOf } from './figures.ts';
import { type Lookup, replicasOf } from './replicas.ts';
import type { KeyCount, View } from './view.ts';

const PATIENCE_MS = 2_000;
const MOST_SHOWN = 20;

const keyCount = z.object({ key_id: z.string(), requests: z.number(), refused: z.number() });
const keysPage = z.object({ data: z.object({ busiest: z.array(keyCount), refused: z.array(keyCount) }) });

/** What a process told; the reason where it told nothing. */
export interface Sample {
  process: Process;
  page?: Page;
  keys: KeyCount[];
  reason?: string;
}

/** Asks all replicas of all processes at once; neither they nor DNS are waited for longer than two seconds. */
export async function takeSamples(processes: readonly Process[], now: () => number, find?: Lookup): Promise<Sample[]> {
  const samples = processes.map(async (process): Promise<Sample[]> => {
    const replicas = await replicasInTime(process, find);
    if (replicas.length === 0) return [{ process, keys: [], reason: 'its name has no address' }];
    return Promise.all(replicas.map((replica) => takeSample(replica, now)));
  });
  return (await Promise.all(samples)).flat();
}

/** None where the name is unknown, or DNS silent. */
function replicasInTime(process: Process, find?: Lookup): Promise<Process[]> {
  return within(PATIENCE_MS, replicasOf(process, find)).catch(() => []);
}

async function takeSample(process: Process, now: () => number): Promise<Sample> {
  try {
    const metrics = await read(`${process.url}/metrics`);
    if (!metrics.ok) return { process, keys: [], reason: `answers ${metrics.status}` };
    const page = new Page(metrics.text, now());
    // Gateways alone have it.
    const keys = page.lines('gateway_limiter_degraded').length > 0 ? await readKeys(process) : [];
    return { process, page, keys };
  } catch {
    return { process, keys: [], reason: 'no answer' };
  }
}

async function readKeys({ url }: Process): Promise<KeyCount[]> {
  const { text } = await read(`${url}/keys`);
  const { busiest, refused } = keysPage.parse(JSON.parse(text)).data;
  return [...new Map([...busiest, ...refused].map((count) => [count.key_id, count])).values()];
}

async function read(url: string): Promise<{ ok: boolean; status: number; text: string }> {
  const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS), redirect: 'error' });
  return { ok: response.ok, status: response.status, text: await response.text() };
}

/** What happened between two rounds of samples; replicas may have come and gone in between. */
export function viewOf(before: readonly Sample[], after: readonly Sample[], now: number): View {
  const processes = after.map(({ process, page, reason }) => {
    const earlier = before.find((sample) => sample.process.url === process.url)?.page;
    const figures = page && earlier ? figuresOf(earlier, page) : null;
    return { name: process.name, address: process.url, figures, reason: figures ? null : (reason ?? 'no figures yet') };
  });
  return { at: Math.floor(now / 1000), processes, keys: keysOf(after) };
}

/** The twenty busiest and the twenty most refused keys over all gateways. */
function keysOf(samples: readonly Sample[]): View['keys'] {
  const sums = new Map<string, KeyCount>();
  for (const { key_id, requests, refused } of samples.flatMap(({ keys }) => keys)) {
    const sum = sums.get(key_id) ?? { key_id, requests: 0, refused: 0 };
    sums.set(key_id, { key_id, requests: sum.requests + requests, refused: sum.refused + refused });
  }
  const first = (by: 'requests' | 'refused') =>
    [...sums.values()]
      .filter((count) => count[by] > 0)
      .toSorted((one, other) => other[by] - one[by])
      .slice(0, MOST_SHOWN);
  return { busiest: first('requests'), refused: first('refused') };
}
