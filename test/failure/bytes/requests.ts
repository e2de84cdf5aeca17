import { wire } from '../../network/raw-http.ts';
import type { Caller } from './oracle.ts';

/** Bytes on a connection, and what must come of the request in them. */
export interface Entry {
  name: string;
  bytes: (caller: Caller) => string;
  /** `passes`, `answered here` (by the gateway itself), or the code that it is refused with. */
  outcome: string;
}

/** A request with a good key; `\n` stands for CR LF, lines of the head end with it. */
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
/** What looks like a request must not become one where it is a body. */
export const INNER = wire('GET /api/v1/whoami HTTP/1.1\nHost: y\n\n');
export const KIB = 1024;
/** So many headers that differ. */
export const names = (count: number) => Array.from({ length: count }, (_, index) => `X-H${index}: ${index}\n`).join('');
