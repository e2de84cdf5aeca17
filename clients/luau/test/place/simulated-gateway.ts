import { randomUUID } from 'node:crypto';
import { Matcher } from '#kit/http/match.ts';
import { type Limit, tightest } from '#kit/limits/limiter.ts';
import { MemoryLimiter } from '#kit/limits/memory.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { CATEGORIES, type Category } from '#proto/rest/limits.ts';
import { API_PREFIX } from '#proto/rest/route.ts';
import type { EngineClock } from '../engine/clock.ts';
import type { HttpRequest, HttpResponse, Transport } from '../engine/http.ts';
import { SimulatedGuild } from './simulated-guild.ts';

const GUILD_SUBJECT = 'guild';
const KEY_SUBJECT = 'key';
const LATENCY_MS = 40;

const matcher = new Matcher(ROUTES, API_PREFIX);

/**
 * A gateway in simulated time, for hours that pass in seconds. The route table, its categories and the limiter are the
 * real ones; what the services do is simulated. Tests of the real gateway are in place.long.test.ts.
 */
export class SimulatedGateway {
  readonly guild: SimulatedGuild;
  isAvailable = true;
  /** The number of rejections, by category. */
  readonly rejections = new Map<string, number>();
  readonly #clock: EngineClock;
  readonly #limiter: MemoryLimiter;

  constructor(clock: EngineClock) {
    this.#clock = clock;
    this.guild = new SimulatedGuild(clock);
    this.#limiter = new MemoryLimiter({ clock });
  }

  readonly transport: Transport = async (request) => {
    await this.#pass(LATENCY_MS);
    this.#checkAvailable();
    const url = new URL(request.url);
    const match = matcher.match(request.method, url.pathname);
    if (!('route' in match)) throw new Error(`no route for ${request.method} ${url.pathname}`);
    const { name, category } = match.route;
    const headers: Record<string, string> = { 'x-request-id': randomUUID(), 'content-type': 'application/json' };
    const retryAfter = category === null ? undefined : this.#count(category, headers);
    if (retryAfter !== undefined) return rateLimited(headers, category as Category, retryAfter);
    const path = url.pathname.slice(API_PREFIX.length + 1).split('/');
    const data = await this.guild.answer(name, path, url.searchParams, bodyOf(request));
    this.#checkAvailable();
    await this.#pass(LATENCY_MS);
    return data === undefined ? respond(404, headers, { code: 'NOT_FOUND' }) : respond(200, headers, data);
  };

  /** Counts a request as the real gateway does; returns the seconds to wait if it is rejected. */
  #count(category: Category, headers: Record<string, string>): number | undefined {
    const { limit, per } = CATEGORIES[category];
    const limits: Limit[] = [{ category, limit, subject: per === 'guild' ? GUILD_SUBJECT : KEY_SUBJECT }];
    const decision = this.#limiter.decide(GUILD_SUBJECT, limits);
    const shown = decision.allowed ? tightest(decision.states) : decision.rejectedBy;
    const { remaining, resetMs } = shown ?? { remaining: 0, resetMs: 0 };
    headers['x-ratelimit-limit'] = String(limit);
    headers['x-ratelimit-remaining'] = String(remaining);
    headers['x-ratelimit-reset'] = String(Math.round((this.#clock.now() + resetMs) / 1000));
    if (decision.allowed) return undefined;
    this.rejections.set(category, (this.rejections.get(category) ?? 0) + 1);
    return Math.max(1, Math.ceil(resetMs / 1000));
  }

  #checkAvailable(): void {
    if (!this.isAvailable) throw new Error('HttpError: ConnectFail');
  }

  async #pass(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#clock.schedule(this.#clock.now() + milliseconds, resolve);
    });
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- bodies differ by route
function bodyOf({ body }: HttpRequest): any {
  return body === undefined ? undefined : JSON.parse(String(body));
}

function respond(status: number, headers: Record<string, string>, content: object): HttpResponse {
  const isSuccess = status < 300;
  const body = {
    status: isSuccess ? 'success' : 'error',
    code: status,
    message: 'message',
    ...(isSuccess ? { data: content } : { details: content }),
  };
  return { status, message: '', headers, body: JSON.stringify(body) };
}

function rateLimited(headers: Record<string, string>, category: Category, retryAfter: number): HttpResponse {
  const details = { code: 'RATE_LIMITED', category, limit: CATEGORIES[category].limit, window: 60, retryAfter };
  return respond(429, { ...headers, 'retry-after': String(retryAfter) }, details);
}
