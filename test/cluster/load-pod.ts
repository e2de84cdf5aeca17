// Runs in a pod: sends requests at a constant rate from `/start?rate=N` until `/stop`, which returns the results. GATEWAY
// and CONSOLE are their addresses; /files/keys.json has keys of enough guilds that no rate limit is reached.
import { readFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { LoadResult } from './load.ts';

type Kind = {
  times: number;
  method: string;
  /** The server that gets the request; the gateway if left out, whose paths begin with /api/v1. */
  at?: 'console';
  path: (guild: string) => string;
  body?: (guild: string, n: number) => object;
};

const TICK_MS = 10;
const CALL_MS = 15_000;
const MAX_EXAMPLES = 20;
/** Limit on requests in flight; further ones are not sent and count as failed. */
const MAX_IN_FLIGHT = 400;
const RIGHT = 200;

/** How often each route is called, of twenty requests. */
const KINDS: readonly Kind[] = [
  { times: 4, method: 'GET', path: () => '/whoami' },
  {
    times: 5,
    method: 'POST',
    path: (guild) => `/moderation/${guild}/game/status`,
    body: () => ({ game_ids: [7001, 7004] }),
  },
  {
    times: 4,
    method: 'POST',
    path: () => '/game/servers/heartbeat',
    body: (guild, n) => ({
      guild_id: guild,
      server_id: `server-${n % 10}`,
      place_id: 1,
      player_count: 1,
      max_players: 30,
    }),
  },
  { times: 2, method: 'GET', path: () => '/bindings/list' },
  { times: 2, method: 'GET', path: (guild) => `/guilds/${guild}/verified` },
  { times: 1, method: 'POST', path: () => '/lookup/status', body: (guild) => ({ guild_id: guild, game_ids: [7001] }) },
  { times: 1, method: 'GET', path: () => '/events?limit=10' },
  // The app: endpoints that need no session accept few requests at a time from one address.
  { times: 1, method: 'GET', at: 'console', path: () => '/' },
];
const TURNS = KINDS.flatMap((kind) => Array.from({ length: kind.times }, () => kind));

const guilds = JSON.parse(readFileSync('/files/keys.json', 'utf8')) as { guild: string; key: string }[];
const { GATEWAY = '', CONSOLE = '' } = process.env;
const agent = new Agent({ keepAlive: true, maxSockets: 100, timeout: 30_000 });

/** Sends requests at a constant rate, however long the responses take. */
class Load {
  readonly #rate: number;
  readonly #began = Date.now();
  readonly #times: number[] = [];
  readonly #failed: Record<string, number> = {};
  readonly #examples: string[] = [];
  readonly #timer: NodeJS.Timeout;
  #sent = 0;
  #ok = 0;

  constructor(rate: number) {
    this.#rate = rate;
    this.#timer = setInterval(() => {
      const due = ((Date.now() - this.#began) / 1000) * rate;
      while (this.#sent < due) this.#next(this.#sent++);
    }, TICK_MS);
  }

  /** Stops sending and waits for requests in flight. */
  async finish(): Promise<LoadResult> {
    clearInterval(this.#timer);
    const seconds = Math.round((Date.now() - this.#began) / 1000);
    while (this.#times.length < this.#sent) await pause(50);
    const times = this.#times.sort((one, other) => one - other);
    const at = (part: number) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0);
    const counts = { rate: this.#rate, seconds, sent: this.#sent, ok: this.#ok };
    return { ...counts, failed: this.#failed, examples: this.#examples, p50: at(0.5), p99: at(0.99), max: at(1) };
  }

  #next(n: number): void {
    if (this.#sent - this.#times.length > MAX_IN_FLIGHT) this.#settle('not sent: too many in flight', 0, '');
    else void this.#call(n);
  }

  async #call(n: number): Promise<void> {
    const began = performance.now();
    const { guild, key } = guilds[n % guilds.length] ?? { guild: '', key: '' };
    const { method, at, path, body } = TURNS[Math.floor(n / guilds.length) % TURNS.length] as Kind;
    const url = new URL(at === 'console' ? `${CONSOLE}${path(guild)}` : `${GATEWAY}/api/v1${path(guild)}`);
    const headers: Record<string, string> = at === 'console' ? {} : { 'x-api-key': key, 'x-guild-id': guild };
    // Every fifth request uses a new connection.
    const fault = await send(url, method, headers, body?.(guild, n), n % 5 === 0);
    this.#settle(fault, performance.now() - began, `${method} ${url.pathname}`);
  }

  #settle(fault: string | undefined, took: number, call: string): void {
    this.#times.push(took);
    if (fault === undefined) {
      this.#ok++;
      return;
    }
    this.#failed[fault] = (this.#failed[fault] ?? 0) + 1;
    const example = `${new Date().toISOString()} ${call}: ${fault} after ${Math.round(took)} ms`;
    if (call !== '' && this.#examples.length < MAX_EXAMPLES) this.#examples.push(example);
  }
}

/** Describes an unexpected response, or why there was none. */
function send(
  url: URL,
  method: string,
  own: Record<string, string>,
  body: object | undefined,
  alone: boolean,
): Promise<string | undefined> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const ofBody = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const headers = { ...own, ...(body === undefined ? {} : ofBody) };
  return new Promise((resolve) => {
    const outgoing = request(url, { method, headers, agent: alone ? false : agent });
    const broken = (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message);
    outgoing.on('response', (response) => {
      let answer = '';
      response.on('data', (part: Buffer) => (answer += part.toString()));
      response.on('end', () => {
        const status = response.statusCode ?? 0;
        resolve(status === RIGHT ? undefined : `${status} ${answer.slice(0, 120)}`);
      });
      response.on('error', broken);
    });
    // For the whole request: a socket timeout would not include the wait for a connection.
    const late = setTimeout(() => outgoing.destroy(new Error('no answer')), CALL_MS);
    outgoing.on('close', () => clearTimeout(late));
    outgoing.on('error', broken);
    outgoing.end(text);
  });
}

let running: Load | undefined;
createServer((incoming, response) => {
  const url = new URL(incoming.url ?? '/', 'http://load');
  if (url.pathname === '/start') running = new Load(Number(url.searchParams.get('rate')));
  if (url.pathname === '/stop') void running?.finish().then((result) => response.end(JSON.stringify(result)));
  else response.end('{}');
}).listen(7000);
process.once('SIGTERM', () => process.exit(0));
