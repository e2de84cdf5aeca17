import { Matcher } from '#kit/http/match.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { CATEGORIES, type Category } from '#proto/rest/limits.ts';
import type { Engine } from '../engine/engine.ts';

const PREFIX = '/api/v1';
const MINUTE_MS = 60_000;
const ENGINE_REQUESTS_A_MINUTE = 500;

const matcher = new Matcher(ROUTES, PREFIX);

/** The rate limit category of a request, by the route table. */
export function categoryOf(method: string, url: string): Category | undefined {
  const match = matcher.match(method, new URL(url).pathname);
  return 'route' in match ? (match.route.category ?? undefined) : undefined;
}

function largest(times: readonly number[], from: (at: number) => number): number {
  const counts = new Map<number, number>();
  for (const at of times) counts.set(from(at), (counts.get(from(at)) ?? 0) + 1);
  return Math.max(0, ...counts.values());
}

/** The most requests of any 60 seconds. */
function mostInAnyMinute(times: readonly number[]): number {
  let most = 0;
  let first = 0;
  for (const [index, at] of times.entries()) {
    while ((times[first] as number) <= at - MINUTE_MS) first++;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

/** How much of each limit the servers used: the engine's limit per server, and the gateway's windows per category. */
export function usage(engines: readonly Engine[]): { name: string; most: number; limit: number }[] {
  const perServer = engines.map((engine) => mostInAnyMinute(engine.requests.map(({ at }) => at)));
  const used = [{ name: 'requests of one server', most: Math.max(0, ...perServer), limit: ENGINE_REQUESTS_A_MINUTE }];
  const byCategory = new Map<Category, number[]>();
  for (const { requests } of engines) {
    // A request without a response did not reach the gateway, or in a few cases its response was lost.
    for (const { method, url, at } of requests.filter(({ status }) => status !== undefined)) {
      const category = categoryOf(method, url);
      if (category) byCategory.set(category, [...(byCategory.get(category) ?? []), at]);
    }
  }
  for (const [category, times] of byCategory) {
    const most = largest(times, (at) => Math.floor(at / MINUTE_MS));
    used.push({ name: category, most, limit: CATEGORIES[category].limit });
  }
  return used;
}
