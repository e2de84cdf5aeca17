import { BODY, END, INNER, KIB, V, chunk, chunked, get, json, post, request, type Entry } from './requests.ts';

/** Requests that arrive at a service. */
export const PASSING: [string, Entry['bytes']][] = [
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
