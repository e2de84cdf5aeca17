import { wire } from '../../network/raw-http.ts';
import type { Caller } from './oracle.ts';

/** Bytes of a request, and its expected result. */
export interface Entry {
  name: string;
  bytes: (caller: Caller) => string;
  /** `passes`, `answered here` (by the gateway itself), or the error code. */
  outcome: string;
}

/** A request with a valid key; `\n` becomes CR LF. */
export const request =
  (line: string, lines = '', body = '') =>
  ({ guild, key }: Caller) =>
    wire(`${line.replaceAll('GUILD', guild)}\nHost: x\nX-API-Key: ${key}\n${lines.replaceAll('GUILD', guild)}\n`) +
    body;

export const V = 'HTTP/1.1';
export const json = (text: string) => `Content-Type: application/json\nContent-Length: ${text.length}\n`;
export const get = (path: string, lines = '') => request(`GET /api/v1${path} ${V}`, `X-Guild-ID: GUILD\n${lines}`);
export const post = (body: string, lines = '') => request(`POST /api/v1/lookup/status ${V}`, json(body) + lines, body);
export const chunked = (body: string, lines = '') =>
  request(
    `POST /api/v1/lookup/status ${V}`,
    `Content-Type: application/json\nTransfer-Encoding: chunked\n${lines}`,
    body,
  );
export const chunk = (text: string, extension = '') => `${text.length.toString(16)}${extension}\r\n${text}\r\n`;
export const END = '0\r\n\r\n';
export const BODY = '{"game_ids":[7]}';
/** A body that looks like a request must not become one. */
export const INNER = wire('GET /api/v1/whoami HTTP/1.1\nHost: y\n\n');
export const KIB = 1024;
/** A number of distinct headers. */
export const names = (count: number) => Array.from({ length: count }, (_, index) => `X-H${index}: ${index}\n`).join('');
