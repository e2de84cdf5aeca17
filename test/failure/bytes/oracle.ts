import { METHODS } from 'node:http';
import { ROUTES } from '#proto/rest/index.ts';
import { API_PREFIX } from '#proto/rest/route.ts';
import { type Message, parseMessage, valuesOf } from './http1.ts';

/** The response to one request. */
export interface Expected {
  status: number;
  /** `details.code` of an error. */
  code?: string;
  /** Responses to HEAD have no body. */
  method: string;
  /** The request that the service must receive, once and unchanged. */
  passed?: Message;
  /** True if rejected because it is ambiguous. */
  isAmbiguous?: boolean;
  /** True if no later request gets a response. */
  closesAfterResponse?: boolean;
  /** True if it depends on timing whether later requests get a response. */
  mayBeLast?: boolean;
}

/** The expected result of bytes on one connection, which the client then half-closes. */
export interface Expectation {
  /** The expected responses in order. */
  answers: Expected[];
  /** How many of them must come; further ones may come in order. */
  certain: number;
  /** True if an error response to malformed bytes follows. */
  rejection: 'none' | 'one' | 'perhaps';
  /** The method of an incomplete request to which that error belongs. */
  unfinished?: string;
}

/** The methods of the requests with a response, in order. */
export function methodsOf({ answers, unfinished }: Expectation): string[] {
  return [...answers.map(({ method }) => method), ...(unfinished ? [unfinished] : [])];
}

export interface Caller {
  guild: string;
  key: string;
}

const MAX_BODY_BYTES = 64 * 1024;
/** Node counts the bytes of names and values, not of separators. */
const MAX_HEAD_BYTES = 16 * 1024;
const MAX_HEADERS = 100;
/** The responses to public paths that the corpus contains, and to what becomes of them when bytes are changed. */
const PUBLIC_PATHS: [path: RegExp, status: number][] = [
  [/^\/$/, 302],
  [/^\/(?:healthz|docs(?:\/search)?|openapi\.json)$/, 200],
  // A slash too many leads to the document; other paths below /docs are pages that do not exist.
  [/^\/(?:docs(?:\/search)?|openapi\.json)\/$/, 301],
  [/^\/docs\//, 404],
];
const MAX_OPTIONS = 20;

/** Predicts from RFC 9112 and the gateway's documentation, independently of its implementation. */
export function expectationOf(bytes: Buffer, caller: Caller): Expectation {
  const expectation: Expectation = { answers: [], certain: 0, rejection: 'none' };
  let isCertain = true;
  for (let position = 0; position < bytes.length; ) {
    const parsed = parseMessage(bytes, position);
    if (parsed.kind !== 'message') {
      if (parsed.head) expectation.unfinished = parsed.head.method;
      const isFirst = expectation.answers.length === 0;
      const isRejected = parsed.kind === 'invalid' && isFirst && parsed.head === undefined;
      expectation.rejection = isOnlyEmptyLines(bytes, position) ? 'none' : isRejected ? 'one' : 'perhaps';
      break;
    }
    if (!METHODS.includes(parsed.message.method) || parsed.message.method === 'CONNECT') {
      expectation.rejection = expectation.answers.length === 0 ? 'one' : 'perhaps';
      break;
    }
    const { body, trailers = 0 } = parsed.message;
    if (parsed.end - position - body.length > MAX_HEAD_BYTES || trailers > MAX_HEADERS) {
      expectation.rejection = 'perhaps';
      break;
    }
    const answer = answerTo(parsed.message, caller);
    // If Node's parser rejects, there is one response before the connection is closed.
    if (answer.isAmbiguous && expectation.answers.length > 0) isCertain = false;
    expectation.answers.push(answer);
    if (isCertain) expectation.certain += 1;
    if (answer.closesAfterResponse) break;
    if (answer.mayBeLast) isCertain = false;
    position = parsed.end;
  }
  return expectation;
}

function isOnlyEmptyLines(bytes: Buffer, position: number): boolean {
  return /^[\r\n]*$/.test(bytes.toString('latin1', position));
}

/** Elements of a list header, in lower case. */
function members(message: Message, name: string): string[] {
  const all = valuesOf(message, name).join(',').toLowerCase().split(',');
  return all.map((member) => member.trim()).filter(Boolean);
}

function answerTo(message: Message, caller: Caller): Expected {
  const { method, version } = message;
  const connection = members(message, 'connection');
  const closes = version === '1.0' ? !connection.includes('keep-alive') : connection.includes('close');
  // An Upgrade is ignored, and the connection is closed after the response.
  const isUpgrade = connection.includes('upgrade') && valuesOf(message, 'upgrade').length > 0;
  const saysLast = closes || isUpgrade;
  // A server may close such a connection at any time.
  const mayBeLast = version === '1.0' ? { mayBeLast: true } : {};
  const end = { method, ...(saysLast ? { closesAfterResponse: true } : {}), ...mayBeLast };
  const options = valuesOf(message, 'connection').join(',').split(',');
  if (message.headers.length > MAX_HEADERS || options.length > MAX_OPTIONS) {
    return { status: 431, code: 'HEADERS_TOO_LARGE', method, closesAfterResponse: true, isAmbiguous: true };
  }
  if (isAmbiguous(message))
    return { status: 400, code: 'INVALID_REQUEST', method, closesAfterResponse: true, isAmbiguous: true };
  const expectations = version === '1.0' ? [] : valuesOf(message, 'expect');
  const waits = expectations.length > 0 ? { mayBeLast: true } : {};
  if (expectations.length > 0 && expectations.join().toLowerCase() !== '100-continue') {
    return { status: 417, code: 'EXPECTATION_FAILED', ...end, ...waits };
  }
  if (message.framing === 'length' && message.body.length > MAX_BODY_BYTES) {
    return { status: 413, code: 'PAYLOAD_TOO_LARGE', ...end, mayBeLast: true };
  }
  const [status, code] = judgement(message, caller);
  if (code !== undefined) return { status, code, ...end, ...waits };
  const [path = ''] = split(message.target);
  if (path === `${API_PREFIX}/whoami` || publicStatus(path) !== undefined) return { status, ...end, ...waits };
  if (message.body.length > MAX_BODY_BYTES) return { status: 413, code: 'PAYLOAD_TOO_LARGE', ...end, mayBeLast: true };
  return { status, ...end, passed: message };
}

/** Headers of which Node would keep only the first. */
const ONCE = [
  'age authorization content-type etag expires from host if-modified-since if-unmodified-since last-modified',
  'location max-forwards proxy-authorization referer retry-after server user-agent content-length',
]
  .join(' ')
  .split(' ');

/** Requests that must be rejected because servers parse them differently. */
function isAmbiguous(message: Message): boolean {
  const { method, target, version, headers } = message;
  const [path = '', ...query] = target.split('?');
  const names = headers.map(([name]) => name.toLowerCase());
  const encodings = valuesOf(message, 'transfer-encoding');
  return [
    version !== '1.0' && version !== '1.1',
    !path.startsWith('/'),
    /%2e|%2f|%5c|%00|\\|#/i.test(path),
    path.split('/').some((segment) => segment === '.' || segment === '..'),
    !isReadable(path) || !isReadable(query.join('?')),
    names.some((name) => name.includes('_')),
    ONCE.some((name) => names.indexOf(name) !== names.lastIndexOf(name)),
    !names.includes('host'),
    valuesOf(message, 'host').some((host) => !/^[A-Za-z0-9._~!$&'()*+,;=%:[\]-]+$/.test(host)),
    members(message, 'connection').some((name) =>
      ['host', 'content-length', 'transfer-encoding', 'expect'].includes(name),
    ),
    encodings.length > 0 && (encodings.join() !== 'chunked' || version === '1.0'),
    ['GET', 'HEAD', 'OPTIONS'].includes(method) && (message.framing === 'chunked' || message.body.length > 0),
  ].some(Boolean);
}

function isReadable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

const publicStatus = (path: string) => PUBLIC_PATHS.find(([pattern]) => pattern.test(path))?.[1];

/** Contract, section 2, steps 1 to 5, for a key with all scopes. */
function judgement(message: Message, { guild, key }: Caller): [number, string?] {
  const [path = '', query = ''] = split(message.target);
  const status = publicStatus(path);
  if (status !== undefined) {
    if (message.method !== 'GET' && message.method !== 'HEAD') return [405, 'METHOD_NOT_ALLOWED'];
    return status === 404 ? [404, 'ROUTE_NOT_FOUND'] : [status];
  }
  const onPath = ROUTES.filter((route) => patternOf(route.path).test(path));
  const method = message.method === 'HEAD' ? 'GET' : message.method;
  const route = onPath.find((candidate) => candidate.method === method);
  if (onPath.length === 0) return [404, 'ROUTE_NOT_FOUND'];
  if (!route) return [405, 'METHOD_NOT_ALLOWED'];
  const dropped = members(message, 'connection');
  const kept = (name: string) => (dropped.includes(name) ? [] : valuesOf(message, name));
  if (query !== '' && /(?:^|&)(?:api_key|apikey|key|access_token)(?:=|&|$)|service_/i.test(decodeURIComponent(query))) {
    return [401, 'INVALID_API_KEY'];
  }
  const given = kept('x-api-key').join(', ') || schemeKey(kept('authorization')[0]);
  if (!given) return [401, 'MISSING_API_KEY'];
  if (given !== key) return [401, 'INVALID_API_KEY'];
  const inPath = patternOf(route.path).exec(path)?.groups?.['guildId'];
  if (inPath !== undefined && decodeURIComponent(inPath) !== guild) return [403, 'GUILD_MISMATCH'];
  const header = kept('x-guild-id').join(', ');
  if (header !== '' && header !== guild) return [403, 'GUILD_MISMATCH'];
  if (header === '' && route.guild === 'header') return [400, 'INVALID_REQUEST'];
  return [200];
}

function split(target: string): string[] {
  const mark = target.indexOf('?');
  return mark < 0 ? [target] : [target.slice(0, mark), target.slice(mark + 1)];
}

const schemeKey = (value = '') => /^(?:apikey|bearer) +(.*)$/i.exec(value)?.[1]?.trim();

const patterns = new Map<string, RegExp>();

function patternOf(path: string): RegExp {
  const known = patterns.get(path);
  if (known) return known;
  const pattern = new RegExp(`^${API_PREFIX}${path.replaceAll(/:([A-Za-z]+)/g, '(?<$1>[^/]+)')}$`);
  patterns.set(path, pattern);
  return pattern;
}
