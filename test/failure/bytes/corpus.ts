import { wire } from '../../raw-http.ts';
import type { Caller } from './oracle.ts';

/** Bytes on a connection, and what must come of the request in them. */
export interface Entry {
  name: string;
  bytes: (caller: Caller) => string;
  /** `passes`, `answered here` (by the gateway itself), or the code that it is refused with. */
  outcome: string;
}

/** A request with a good key; `\n` stands for CR LF, lines of the head end with it. */
const request =
  (line: string, lines = '', body = '') =>
  ({ guild, key }: Caller) =>
    wire(`${line.replaceAll('GUILD', guild)}\nHost: x\nX-API-Key: ${key}\n${lines.replaceAll('GUILD', guild)}\n`) +
    body;

const V = 'HTTP/1.1';
const json = (text: string) => `Content-Type: application/json\nContent-Length: ${text.length}\n`;
const get = (path: string, lines = '') => request(`GET /api/v1${path} ${V}`, `X-Guild-ID: GUILD\n${lines}`);
const post = (body: string, lines = '') => request(`POST /api/v1/lookup/status ${V}`, json(body) + lines, body);
const chunked = (body: string, lines = '') =>
  request(
    `POST /api/v1/lookup/status ${V}`,
    `Content-Type: application/json\nTransfer-Encoding: chunked\n${lines}`,
    body,
  );
const chunk = (text: string, extension = '') => `${text.length.toString(16)}${extension}\r\n${text}\r\n`;
const END = '0\r\n\r\n';
const BODY = '{"game_ids":[7]}';
/** What looks like a request must not become one where it is a body. */
const INNER = wire('GET /api/v1/whoami HTTP/1.1\nHost: y\n\n');
const KIB = 1024;

const passing: [string, Entry['bytes']][] = [
  ['GET', get('/lookup/game/7')],
  ['GET with a query', get('/bindings/list?x=%C3%A9&y=../z&w=a%2Fb?')],
  ['HEAD', request(`HEAD /api/v1/lookup/game/7 ${V}`, 'X-Guild-ID: GUILD\n')],
  ['a guild in the path', get('/guilds/GUILD/verified?limit=5')],
  ['an encoded guild in the path', (caller) => get(`/guilds/%39${caller.guild.slice(1)}/verified`)(caller)],
  ['POST with a length', post(BODY)],
  ['POST without a body', request(`POST /api/v1/lookup/status ${V}`)],
  ['a length of zero', request(`POST /api/v1/reverse ${V}`, 'Content-Length: 0\n')],
  ['a length with leading zeros', request(`POST /api/v1/reverse ${V}`, 'Content-Length: 00002\n', '{}')],
  ['GET with a length of zero', get('/lookup/game/8', 'Content-Length: 0\n')],
  ['PATCH', request(`PATCH /api/v1/bindings/update ${V}`, json(BODY), BODY)],
  ['DELETE', request(`DELETE /api/v1/bindings/remove/7 ${V}`)],
  [
    'DELETE with a chunked body',
    request(`DELETE /api/v1/bindings/remove/8 ${V}`, 'Transfer-Encoding: chunked\n', chunk(INNER) + END),
  ],
  [
    'DELETE with a length',
    request(`DELETE /api/v1/bindings/remove/9 ${V}`, `Content-Length: ${INNER.length}\n`, INNER),
  ],
  ['a body that looks like a request', post(INNER)],
  ['a chunk that looks like a request', chunked(chunk(INNER) + END)],
  ['a body that is binary', post('\0\r\n\xff\x80\r\n\r\n')],
  ['one chunk', chunked(chunk(BODY) + END)],
  [
    'chunks of one byte',
    chunked(
      BODY.split('')
        .map((character) => chunk(character))
        .join('') + END,
    ),
  ],
  ['no chunk', chunked(END)],
  ['a chunk size in capitals with zeros', chunked(`0000A\r\n0123456789\r\n${END}`)],
  ['chunk extensions', chunked(chunk(BODY, ';a=b;c="d e"') + END)],
  ['trailers', chunked(`${chunk(BODY)}0\r\nX-Sum: 1\r\nX-Guild-ID: 1\r\n\r\n`, 'Trailer: X-Sum\n')],
  [
    'trailers that a caller could forge',
    chunked(`${chunk(BODY)}0\r\nx-guild-principal: e30.AAAA\r\nx-internal-a: b\r\n\r\n`),
  ],
  ['64 KiB', post('x'.repeat(64 * KIB))],
  ['64 KiB in chunks', chunked(chunk('x'.repeat(40 * KIB)) + chunk('y'.repeat(24 * KIB)) + END)],
  ['an expectation of 100', post(BODY, 'Expect: 100-continue\n')],
  ['an expectation in chunks', chunked(chunk(BODY) + END, 'Expect: 100-Continue\n')],
  ['an expectation of nothing', request(`POST /api/v1/reverse ${V}`, 'Expect: 100-continue\n')],
  ['HTTP/1.0', request('GET /api/v1/lookup/game/7 HTTP/1.0', 'X-Guild-ID: GUILD\n')],
  [
    'HTTP/1.0 that is kept',
    request('GET /api/v1/lookup/game/7 HTTP/1.0', 'X-Guild-ID: GUILD\nConnection: keep-alive\n'),
  ],
  ['HTTP/1.0 with a body', request('POST /api/v1/reverse HTTP/1.0', json(BODY), BODY)],
  ['HTTP/1.0 that expects', request('POST /api/v1/reverse HTTP/1.0', `Expect: tea\n${json(BODY)}`, BODY)],
  ['Connection: close', get('/lookup/game/7', 'Connection: close\n')],
  ['empty lines before it', (caller) => `\r\n\r\n${get('/lookup/game/7')(caller)}`],
  ['a header twice', get('/lookup/game/7', 'X-Thing: a\nX-Other: b\nx-thing: c\n')],
  ['an empty header', get('/lookup/game/7', 'X-Empty:\nX-Space:   \t \n')],
  ['white space around values', get('/lookup/game/7', 'X-Space: \t a b \t c  \t\n')],
  ['Latin-1 in a value', get('/lookup/game/7', 'X-Name: caf\xe9 \xff\x80\n')],
  ['every character of a name', get('/lookup/game/7', "x!#$%&'*+-.^`|~09aZ: odd\n")],
  ['names of Object.prototype', get('/lookup/game/7', 'constructor: a\ntoString: b\nhasOwnProperty: c\n')],
  ['15 KiB of headers', get('/lookup/game/7', `X-Large: ${'x'.repeat(15 * KIB)}\n`)],
  [
    'many headers',
    get('/lookup/game/7', Array.from({ length: 200 }, (_, index) => `X-H${index}: ${index}\n`).join('')),
  ],
  ['a long target', get(`/lookup/game/${'7'.repeat(8 * KIB)}`)],
  ['Keep-Alive and TE', get('/lookup/game/7', 'Keep-Alive: timeout=5\nTE: trailers\nConnection: TE, Keep-Alive\n')],
  ['reserved headers', get('/lookup/game/7', 'X-Guild-Principal: e30.AAAA\nx-INTERNAL-key: 1\nX-Guild-Call: a\n')],
  ['reserved headers twice', get('/lookup/game/7', 'x-guild-principal: a\nX-GUILD-PRINCIPAL: b\n')],
  [
    'forwarded headers',
    get('/lookup/game/7', 'Forwarded: for=1.2.3.4\nX-Forwarded-For: 1.2.3.4\nX-Forwarded-Host: y\n'),
  ],
  [
    'headers that Connection names',
    get('/lookup/game/7', 'X-Secret: a\nConnection: x-secret, keep-alive\nX-Kept: b\n'),
  ],
  ['Upgrade that Connection does not name', get('/lookup/game/7', 'Upgrade: websocket\n')],
];

const refused: [string, string, Entry['bytes']][] = [
  ['both lengths', 'INVALID_REQUEST', chunked(chunk(BODY) + END, 'Content-Length: 5\n')],
  ['both lengths, the other way round', 'INVALID_REQUEST', post(BODY, 'Transfer-Encoding: chunked\n')],
  ['two lengths', 'INVALID_REQUEST', post(BODY, 'Content-Length: 3\n')],
  ['the same length twice', 'INVALID_REQUEST', post(BODY, `Content-Length: ${BODY.length}\n`)],
  ...['5, 5', '+5', '-5', '5 5', '0x5', '5a', '', '1e1', '99999999999999999999999'].map(
    (length): [string, string, Entry['bytes']] => [
      `the length ${JSON.stringify(length)}`,
      'INVALID_REQUEST',
      request(`POST /api/v1/reverse ${V}`, `Content-Length: ${length}\n`, 'hello'),
    ],
  ),
  ...[
    'gzip, chunked',
    'Chunked',
    'chunked, chunked',
    'chunked, identity',
    'identity',
    'xchunked',
    'chunked;q=1',
    '"chunked"',
    'chunked,',
    '',
  ].map((coding): [string, string, Entry['bytes']] => [
    `Transfer-Encoding: ${coding}`,
    'INVALID_REQUEST',
    request(`POST /api/v1/reverse ${V}`, `Transfer-Encoding: ${coding}\n`, END),
  ]),
  ['two Transfer-Encodings', 'INVALID_REQUEST', chunked(END, 'Transfer-Encoding: chunked\n')],
  [
    'Transfer-Encoding with a space before its colon',
    'INVALID_REQUEST',
    request(`POST /api/v1/reverse ${V}`, 'Transfer-Encoding : chunked\n', END),
  ],
  [
    'Transfer-Encoding in HTTP/1.0',
    'INVALID_REQUEST',
    request('POST /api/v1/reverse HTTP/1.0', 'Transfer-Encoding: chunked\n', END),
  ],
  [
    'the same, kept alive',
    'INVALID_REQUEST',
    request('POST /api/v1/reverse HTTP/1.0', 'Connection: keep-alive\nTransfer-Encoding: chunked\n', END),
  ],
  ...[
    'g\r\n',
    '-1\r\nx\r\n',
    '0x1\r\nx\r\n',
    '1 \r\nx\r\n',
    ' 1\r\nx\r\n',
    '1\nx\n0\n\n',
    '1\r\nxy\r\n',
    '1\r\nx\n',
    '\r\n',
    '10000000000000000\r\nx\r\n',
    '1;\x01\r\nx\r\n',
  ].map((bad): [string, string, Entry['bytes']] => [
    `the chunk ${JSON.stringify(bad)}`,
    'INVALID_REQUEST',
    chunked(bad + END),
  ]),
  ['a folded header', 'INVALID_REQUEST', get('/lookup/game/7', 'X-Folded: a\n b\n')],
  [
    'a folded first header',
    'INVALID_REQUEST',
    ({ key }) => wire(`GET /api/v1/whoami ${V}\n Host: x\nX-API-Key: ${key}\n\n`),
  ],
  ['a bare line feed', 'INVALID_REQUEST', (caller) => get('/lookup/game/7')(caller).replaceAll('\r\n', '\n')],
  [
    'one bare line feed',
    'INVALID_REQUEST',
    (caller) => get('/lookup/game/7', 'X-A: b\n')(caller).replace('b\r\n', 'b\n'),
  ],
  ['a bare carriage return', 'INVALID_REQUEST', get('/lookup/game/7', 'X-A: b\rX-B: c\n')],
  ['a zero byte in a value', 'INVALID_REQUEST', get('/lookup/game/7', 'X-A: b\0c\n')],
  ['a zero byte in a name', 'INVALID_REQUEST', get('/lookup/game/7', 'X-\0A: b\n')],
  ['a space in a name', 'INVALID_REQUEST', get('/lookup/game/7', 'X A: b\n')],
  ['a header without a name', 'INVALID_REQUEST', get('/lookup/game/7', ': b\n')],
  ['a header without a colon', 'INVALID_REQUEST', get('/lookup/game/7', 'X-A\n')],
  ['an underscore in a name', 'INVALID_REQUEST', get('/lookup/game/7', 'X_Guild_Principal: e30.AAAA\n')],
  ['X-API_Key', 'INVALID_REQUEST', get('/lookup/game/7', 'X-API_Key: a\n')],
  ['no Host', 'INVALID_REQUEST', ({ key }) => wire(`GET /api/v1/whoami ${V}\nX-API-Key: ${key}\n\n`)],
  ['two Hosts', 'INVALID_REQUEST', get('/lookup/game/7', 'Host: y\n')],
  [
    'a Host that is none',
    'INVALID_REQUEST',
    ({ key }) => wire(`GET /api/v1/whoami ${V}\nHost: a b/c@d\nX-API-Key: ${key}\n\n`),
  ],
  ['two content types', 'INVALID_REQUEST', post(BODY, 'Content-Type: text/plain\n')],
  ['Connection that names a length', 'INVALID_REQUEST', post(BODY, 'Connection: Content-Length\n')],
  ...[
    'http://x/api/v1/whoami',
    'https://x/api/v1/whoami',
    '*',
    'api/v1/whoami',
    'x:80',
    '//x/api/v1/../v1/whoami',
    '/api/v1/./whoami',
    '/api/v1/x/../whoami',
    '/api/v1/whoami/..',
    '/api/v1/%2e%2e/v1/whoami',
    '/api/v1/%2E/whoami',
    '/api%2fv1/whoami',
    '/api%2Fv1/whoami',
    '/api/v1%5cwhoami',
    '/api\\v1/whoami',
    '/api/v1/whoami%00',
    '/api/v1/whoami%',
    '/api/v1/whoami%zz',
    '/api/v1/whoami?a=%',
    '/api/v1/whoami#a',
    '/api/v1/who\xe9',
    '/api/v1/%ff',
  ].map((target): [string, string, Entry['bytes']] => [
    `the target ${target}`,
    'INVALID_REQUEST',
    request(`GET ${target} ${V}`),
  ]),
  ...[
    'GET /api/v1/whoami',
    'GET /api/v1/whoami HTTP/1.1 ',
    'GET\t/api/v1/whoami\tHTTP/1.1',
    'GET /api/v1/who ami HTTP/1.1',
    ' GET /api/v1/whoami HTTP/1.1',
    'GET /api/v1/whoami http/1.1',
    'GET /api/v1/whoami HTTP/1.2',
    'GET /api/v1/whoami HTTP/2.0',
    'GET /api/v1/whoami HTTP/0.9',
    'GET /api/v1/whoami HTTP/11',
    'GET /api/v1/whoami HTTX/1.1',
    'PRI * HTTP/2.0',
  ].map((line): [string, string, Entry['bytes']] => [
    `the line ${JSON.stringify(line)}`,
    'INVALID_REQUEST',
    request(line),
  ]),
  ['GET with a body', 'INVALID_REQUEST', get('/lookup/game/7', `Content-Length: ${INNER.length}\n`)],
  [
    'GET in chunks',
    'INVALID_REQUEST',
    request(`GET /api/v1/lookup/game/7 ${V}`, 'Transfer-Encoding: chunked\n', chunk(INNER) + END),
  ],
  ['HEAD with a body', 'INVALID_REQUEST', request(`HEAD /api/v1/lookup/game/7 ${V}`, 'Content-Length: 2\n', '{}')],
  ['OPTIONS with a body', 'INVALID_REQUEST', request(`OPTIONS /api/v1/whoami ${V}`, 'Content-Length: 2\n', '{}')],
  ['64 KiB and a byte', 'PAYLOAD_TOO_LARGE', post('x'.repeat(64 * KIB + 1))],
  [
    '64 KiB and a byte in chunks',
    'PAYLOAD_TOO_LARGE',
    chunked(chunk('x'.repeat(40 * KIB)) + chunk('y'.repeat(24 * KIB + 1)) + END),
  ],
  ['64 KiB and a byte in one chunk', 'PAYLOAD_TOO_LARGE', chunked(chunk('x'.repeat(64 * KIB + 1)) + END)],
  [
    'much too much in chunks, expected',
    'PAYLOAD_TOO_LARGE',
    chunked(chunk('x'.repeat(64 * KIB + 1)) + END, 'Expect: 100-continue\n'),
  ],
  ['16 KiB of headers', 'HEADERS_TOO_LARGE', get('/lookup/game/7', `X-Large: ${'x'.repeat(17 * KIB)}\n`)],
  ['16 KiB of small headers', 'HEADERS_TOO_LARGE', get('/lookup/game/7', `X-Small: ${'x'.repeat(90)}\n`.repeat(180))],
  ['16 KiB of target', 'HEADERS_TOO_LARGE', get(`/lookup/game/${'7'.repeat(17 * KIB)}`)],
  ['16 KiB of trailers', 'HEADERS_TOO_LARGE', chunked(`0\r\nX-Large: ${'x'.repeat(17 * KIB)}\r\n\r\n`)],
  ['an odd expectation', 'EXPECTATION_FAILED', post(BODY, 'Expect: tea\n')],
  ['an expectation and another', 'EXPECTATION_FAILED', post(BODY, 'Expect: 100-continue, tea\n')],
  ['CONNECT', 'METHOD_NOT_ALLOWED', request(`CONNECT x:80 ${V}`)],
  ['Upgrade', 'METHOD_NOT_ALLOWED', get('/lookup/game/7', 'Connection: Upgrade\nUpgrade: websocket\n')],
  [
    'Upgrade to HTTP/2',
    'METHOD_NOT_ALLOWED',
    get('/lookup/game/7', 'Connection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAA\n'),
  ],
  [
    'Upgrade with a body, head alone',
    'METHOD_NOT_ALLOWED',
    request(`POST /api/v1/reverse ${V}`, 'Connection: Upgrade\nUpgrade: h2c\nContent-Length: 5\n'),
  ],
  [
    'Upgrade with half a body',
    'METHOD_NOT_ALLOWED',
    request(`POST /api/v1/reverse ${V}`, 'Connection: Upgrade\nUpgrade: h2c\nContent-Length: 5\n', 'he'),
  ],
  [
    'Upgrade with chunks, head alone',
    'METHOD_NOT_ALLOWED',
    request(`POST /api/v1/reverse ${V}`, 'Connection: Upgrade\nUpgrade: h2c\nTransfer-Encoding: chunked\n'),
  ],
  ['a method of its own', 'METHOD_NOT_ALLOWED', request(`BREW /api/v1/whoami ${V}`)],
  ['PUT', 'METHOD_NOT_ALLOWED', request(`PUT /api/v1/bindings/update ${V}`, json(BODY), BODY)],
  ['OPTIONS', 'METHOD_NOT_ALLOWED', request(`OPTIONS /api/v1/whoami ${V}`)],
  ['a doubled slash', 'ROUTE_NOT_FOUND', get('//lookup/game/7')],
  ['another case', 'ROUTE_NOT_FOUND', get('/Lookup/game/7')],
  ['a key in the query', 'INVALID_API_KEY', get('/lookup/game/7?api_key=1')],
  ['two keys', 'INVALID_API_KEY', get('/lookup/game/7', 'X-API-Key: service_1_a\n')],
  ['two guilds', 'GUILD_MISMATCH', get('/lookup/game/7', 'X-Guild-ID: GUILD\n')],
  ['a guild that Connection takes away', 'INVALID_REQUEST', get('/lookup/game/7', 'Connection: X-Guild-ID\n')],
];

/** What callers, careless or hostile, put on a connection. */
export const CORPUS: readonly Entry[] = [
  { name: 'whoami', bytes: request(`GET /api/v1/whoami ${V}`), outcome: 'answered here' },
  { name: 'several spaces', bytes: request(`GET  /api/v1/whoami   ${V}`), outcome: 'answered here' },
  { name: 'healthz', bytes: () => wire(`GET /healthz ${V}\nHost: x\n\n`), outcome: 'answered here' },
  ...passing.map(([name, bytes]) => ({ name, bytes, outcome: 'passes' })),
  ...refused.map(([name, outcome, bytes]) => ({ name, bytes, outcome })),
];

/** Lines that a head is spoilt with. */
export const SPOILERS: readonly string[] = [
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: chunked, chunked',
  'Content-Length: 0',
  'Content-Length: 5',
  'Content-Length: 5, 5',
  'Content-Length : 5',
  'content_length: 5',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: Upgrade',
  'Connection: x-api-key',
  'Connection: host',
  'Upgrade: h2c',
  'Expect: 100-continue',
  'Expect: 200-ok',
  'Host: other',
  'X-Guild-Principal: e30.AAAA',
  'x-guild-principal : e30.AAAA',
  'X-Internal-Secret: 1',
  'X-Request-Id: caller.1',
  'X-Request-Id: a b',
  'X-Forwarded-For: 10.0.0.1',
  'Forwarded: for=_x',
  'Trailer: X-Guild-Principal',
  'Cookie: a=b',
  'Authorization: Bearer x',
  'X-Guild-ID: 900000000000000009',
  ' folded',
  '\tfolded',
  ': no name',
  'no colon',
  'X-Null: a\0b',
  '',
];
