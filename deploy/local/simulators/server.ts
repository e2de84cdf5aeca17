import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './faults.ts';
import { Faults } from './faults.ts';
import type { Clock, Limit } from './limits.ts';
import type { Answer, Call, Control, Route } from './routes.ts';
import { createTable, done, ok, Rejection } from './routes.ts';
import type { World } from './world.ts';

/** What differs between the platforms. */
export type Platform = {
  routes: Route[];
  /** Further routes below `/__`. */
  controls: Control[];
  /** Authenticates and applies rate limits: returns response headers, or throws a Rejection. */
  admit: (call: Call, route: Route) => Record<string, string>;
  /** An error in the platform's format. */
  error: (status: number, path: string, retryAfter?: number) => Answer;
  /** Serves websockets, if the platform has any. */
  websocket?: { path: string; upgrade: Upgrade; stop: () => void };
};
type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** `limits` replaces limits by name; `limitScale` multiplies all. */
export type PlatformOptions = { clock: Clock; limits?: Partial<Record<string, Limit>>; limitScale?: number };

export type RunningServer = { url: string; stop: () => Promise<void> };

const largestBody = 16 * 1024 * 1024;
const unreadable = Symbol('a body that is not JSON');

/** Serves a platform, by default on 127.0.0.1; port 0 selects a free port. */
export async function listen(
  platform: Platform,
  world: World,
  port: number,
  host = '127.0.0.1',
): Promise<RunningServer> {
  const simulator = new Simulator(platform, world);
  const server = createServer((request, response) => {
    simulator.answer(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  if (platform.websocket) server.on('upgrade', (...args) => void simulator.upgrade(...args));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const stop = () => {
    // Closing a server does not close the connections that it handed over.
    platform.websocket?.stop();
    return close(server);
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

class Simulator {
  readonly #platform: Platform;
  readonly #find: ReturnType<typeof createTable<Route>>;
  readonly #findControl: ReturnType<typeof createTable<Control>>;
  readonly #faults = new Faults();
  readonly #calls = new Map<string, number>();
  readonly #statuses = new Map<number, number>();

  constructor(platform: Platform, world: World) {
    this.#platform = platform;
    this.#find = createTable(platform.routes);
    this.#findControl = createTable([...this.#controls(world), ...platform.controls]);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(`http://localhost${request.url}`);
    const { method = 'GET', headers } = request;
    const body = await readBody(request);
    const call: Call = { method, path: pathname, params: {}, query: searchParams, headers, body };
    if (pathname.startsWith('/__')) send(response, await this.#control(call));
    else await this.#meetFault(call, response);
  }

  /** Hands a websocket over to the platform, unless a fault of its path prevents it. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => undefined);
    const { websocket } = this.#platform;
    const { pathname } = new URL(`http://localhost${request.url}`);
    count(this.#calls, `UPGRADE ${websocket?.path === pathname ? pathname : '(unknown)'}`);
    const fault = this.#faults.take(pathname);
    if (fault?.delay_ms) await sleep(fault.delay_ms, undefined, { ref: false });
    if (fault?.reset || socket.destroyed) socket.destroy();
    else if (fault?.status || !websocket || websocket.path !== pathname)
      socket.end(`HTTP/1.1 ${fault?.status ?? 404} Refused\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
    else websocket.upgrade(request, socket, head);
  }

  async #meetFault(call: Call, response: ServerResponse): Promise<void> {
    const found = this.#find(call.method, call.path);
    count(this.#calls, `${call.method} ${'route' in found ? found.route.pattern : '(unknown)'}`);
    const fault = this.#faults.take(call.path);
    if (fault?.delay_ms) await sleep(fault.delay_ms, undefined, { ref: false });
    if (fault?.reset) response.socket?.resetAndDestroy();
    else {
      const answer = (fault && this.#faultAnswer(fault, call.path)) ?? this.#serve(call);
      count(this.#statuses, answer.status);
      send(response, answer, fault?.truncate);
    }
  }

  #faultAnswer(fault: Fault, path: string): Answer | undefined {
    const { status, retry_after: retryAfter, body } = fault;
    const headers: Record<string, string> =
      retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfter)) };
    if (fault.broken) return { status: status ?? 200, headers, body: '{"data": [{"id": ' };
    if (body !== undefined) return { status: status ?? 200, headers, body: JSON.stringify(body) };
    if (status === undefined) return undefined;
    const own = this.#platform.error(status, path, retryAfter);
    return { ...own, headers: { ...own.headers, ...headers } };
  }

  #serve(call: Call): Answer {
    const found = this.#find(call.method, call.path);
    if (!('route' in found)) return this.#platform.error(found.allow.length > 0 ? 405 : 404, call.path);
    if (call.body === unreadable) return this.#platform.error(400, call.path);
    const admitted = { ...call, params: found.params };
    let headers = {};
    try {
      headers = this.#platform.admit(admitted, found.route);
      const answer = found.route.handle(admitted);
      return { ...answer, headers: { ...headers, ...answer.headers } };
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      return { ...error.answer, headers: { ...headers, ...error.answer.headers } };
    }
  }

  async #control(call: Call): Promise<Answer> {
    const found = this.#findControl(call.method, call.path);
    if (!('route' in found)) return ok({ error: 'no such control' }, found.allow.length > 0 ? 405 : 404);
    try {
      return await found.route.handle(call);
    } catch (error) {
      return ok({ error: error instanceof Error ? error.message : String(error) }, 400);
    }
  }

  #controls(world: World): Control[] {
    const calls = () => ok({ calls: Object.fromEntries(this.#calls), statuses: Object.fromEntries(this.#statuses) });
    const forgetCalls = () => {
      this.#calls.clear();
      this.#statuses.clear();
    };
    return [
      { method: 'GET', pattern: '/__faults', handle: () => ok({ faults: this.#faults.list() }) },
      { method: 'POST', pattern: '/__faults', handle: (call) => ok(this.#faults.add(call.body), 201) },
      { method: 'DELETE', pattern: '/__faults', handle: done(() => this.#faults.clear()) },
      { method: 'GET', pattern: '/__world', handle: () => ok(world.data) },
      { method: 'PUT', pattern: '/__world', handle: done((call) => world.replace(call.body)) },
      { method: 'GET', pattern: '/__calls', handle: calls },
      { method: 'DELETE', pattern: '/__calls', handle: done(forgetCalls) },
    ];
  }
}

/** Reads a form as URLSearchParams, a form with files as an object with their texts, and any other body as JSON. */
async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= largestBody) chunks.push(chunk);
  }
  if (size === 0) return undefined;
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString();
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('application/x-www-form-urlencoded')) return new URLSearchParams(text);
  if (type.startsWith('multipart/form-data')) return readMultipart(bytes, type).catch(() => unreadable);
  try {
    return JSON.parse(text);
  } catch {
    return unreadable;
  }
}

/** Reads a form with files as the platform does: its JSON is in `payload_json`, beside the files. */
async function readMultipart(bytes: Buffer<ArrayBuffer>, type: string): Promise<unknown> {
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  const payload = form.get('payload_json');
  const fields: Record<string, unknown> = typeof payload === 'string' ? JSON.parse(payload) : {};
  for (const [name, value] of form) if (typeof value !== 'string') fields[name] = await value.text();
  return fields;
}

function send(response: ServerResponse, answer: Answer, truncate = false): void {
  if (response.destroyed) return;
  if (answer.body === undefined) {
    if (truncate) response.socket?.resetAndDestroy();
    else response.writeHead(answer.status, answer.headers).end();
    return;
  }
  const text = Buffer.from(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  const headers = { 'content-type': 'application/json', ...answer.headers, 'content-length': text.length };
  response.writeHead(answer.status, headers);
  if (truncate) response.write(text.subarray(0, text.length / 2), () => response.socket?.destroy());
  else response.end(text);
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
