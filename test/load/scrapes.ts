import { setInterval as every } from 'node:timers/promises';
import { requestsOf, SCENARIOS, type Scenario } from './scenarios.ts';
import { measureAt, median, type Stage } from './stage.ts';

/** More often than Prometheus scrapes in practice. */
const SCRAPE_EVERY_MS = 1_000;
const RATE = 500;

/** The 99th percentile of latency in milliseconds; medians of all rounds. */
export interface Scraped {
  without: number;
  /** While the gateway's metrics are scraped. */
  during: number;
  /** The duration of the longest scrape. */
  longestScrape: number;
}

/** Measures the latency of whoami, which the gateway itself responds to, alternately with and without scrapes. */
export async function driveScrapes(stage: Stage): Promise<Scraped> {
  const gateway = await stage.system.startReplica('gateway');
  try {
    const [without, during]: [number[], number[]] = [[], []];
    let longestScrape = 0;
    for (let round = 0; round < stage.rounds; round += 1) {
      without.push(await p99(stage, gateway));
      const over = new AbortController();
      const scraping = scrape(gateway.admin, over.signal);
      during.push(await p99(stage, gateway));
      over.abort();
      longestScrape = Math.max(longestScrape, await scraping);
      console.log(
        `round ${round + 1}: p99 ${without.at(-1)?.toFixed(2)} ms, ${during.at(-1)?.toFixed(2)} ms with scrapes`,
      );
    }
    return { without: median(without), during: median(during), longestScrape };
  } finally {
    await gateway.child.stop(5_000);
  }
}

async function p99(stage: Stage, { port, child }: { port: number; child: { pid: number } }): Promise<number> {
  const { status, ...scenario } = SCENARIOS.find(({ name }) => name === 'whoami') as Scenario;
  const target = { host: '127.0.0.1', ports: [port], requests: requestsOf({ ...scenario, status }, stage.world) };
  const figures = await measureAt(stage, target, RATE, { status, processes: { gateway: child.pid } });
  return figures.latency.p99;
}

/** Scrapes the metrics until it is aborted. Resolves with the milliseconds of the longest scrape. */
async function scrape(admin: string, signal: AbortSignal): Promise<number> {
  let longest = 0;
  try {
    for await (const _ of every(SCRAPE_EVERY_MS, undefined, { signal })) {
      const started = performance.now();
      await (await fetch(`${admin}/metrics`)).text();
      longest = Math.max(longest, performance.now() - started);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return longest;
}
