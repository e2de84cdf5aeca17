import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ClientOptions } from './src/client.ts';
import { GuildData } from './src/guild-data.ts';
import type { Runtime } from './src/runtime.ts';

export const GUILD = '900000000000000001';
export const KEY = 'service_900000000000000001_secret';

/** A request that the server received. */
export interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** What the server does with a request. */
export type Step = (response: ServerResponse) => void;

export interface ScriptedServer {
  baseUrl: string;
  received: Received[];
  stop(): Promise<void>;
}

/** Starts a server that treats each request with the next step; the last step treats all further ones. */
export async function startScriptedServer(steps: readonly Step[]): Promise<ScriptedServer> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const treat = (body: string) => {
      received.push({ method, url, headers, body });
      steps[Math.min(received.length, steps.length) - 1]?.(response);
    };
    // A client may give up while it sends its body.
    text(request).then(treat, () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Responds with data in the envelope of the API. */
export const succeed =
  (data: object = {}, headers: Record<string, string> = {}): Step =>
  (response) =>
    send(response, 200, headers, { status: 'success', code: 200, message: 'ok', data });

/** Responds with an error in the envelope of the API. */
export const fail =
  (status: number, code: string, headers: Record<string, string> = {}, details: object = {}): Step =>
  (response) =>
    send(
      response,
      status,
      { 'x-request-id': 'r-1', ...headers },
      {
        status: 'error',
        code: status,
        message: `the message of ${code}`,
        details: { code, ...details },
      },
    );

/** Never responds. */
export const hang: Step = () => undefined;

/** Closes the connection without a response. */
export const reset: Step = (response) => response.socket?.destroy();

/** Closes the connection in the middle of the response. */
export const resetInBody: Step = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
  response.write('{"status":"success",', () => response.socket?.destroy());
};

function send(response: ServerResponse, status: number, headers: Record<string, string>, body: object): void {
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
    .end(JSON.stringify(body));
}

/** A fake clock that each wait advances immediately. `waits` contains the duration of each wait in milliseconds. */
export function manualRuntime(start = Date.now()): Runtime & { waits: number[] } {
  let time = start;
  const waits: number[] = [];
  return {
    fetch: globalThis.fetch,
    now: () => time,
    random: () => 0.5,
    sleep: async (milliseconds) => {
      waits.push(milliseconds);
      time += milliseconds;
    },
    waits,
  };
}

/** A client of a scripted server. */
export function clientOf({ baseUrl }: ScriptedServer, options: Partial<ClientOptions> = {}): GuildData {
  return new GuildData({ key: KEY, guildId: GUILD, baseUrl, ...options });
}
