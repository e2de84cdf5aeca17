import { wire } from '../../network/raw-http.ts';
import { BODY, chunk, chunked, END, type Entry, get, KIB, names, post, request, V } from './requests.ts';

/** Slightly less than the largest request head that Node's parser accepts, minus the common lines. */
const ROOM = 15.5 * KIB;
/** Repeats a text as often as it fits. */
const filled = (piece: string, room = ROOM) => piece.repeat(Math.floor(room / piece.length));
const numbered = (piece: (index: number) => string, count: number) =>
  Array.from({ length: count }, (_, index) => piece(index)).join('');
/** A header with the largest value that fits. */
const header = (name: string, piece: string) => get('/lookup/game/7', `${name}: ${filled(piece)}x\n`);
const LONG_NAMES = numbered((index) => `X-${'h'.repeat(40)}${index}: ${'v'.repeat(100)}\n`, 96);
const OPTIONS = `Connection: ${Array.from({ length: 20 }, (_, index) => `x-h${index}`).join()}\n`;

/** Requests of less than 16 KiB that use as much CPU as possible. */
export const COSTLY: [name: string, outcome: string, bytes: Entry['bytes']][] = [
  ['96 long headers', 'passes', get('/lookup/game/7', LONG_NAMES)],
  ['20 options that name headers', 'passes', get('/lookup/game/7', OPTIONS + names(95))],
  [
    '20 long options',
    'passes',
    get('/lookup/game/7', `Connection: ${filled('b', 700)}${`,${filled('b', 700)}`.repeat(19)}\n`),
  ],
  ['one header 97 times', 'passes', get('/lookup/game/7', `X-Same: ${'v'.repeat(140)}\n`.repeat(97))],
  ['Accept 97 times', 'passes', get('/lookup/game/7', `Accept: ${'v,'.repeat(70)}\n`.repeat(97))],
  [
    '97 underscores',
    'INVALID_REQUEST',
    get(
      '/lookup/game/7',
      numbered((index) => `${'_'.repeat(140)}${index}:\n`, 97),
    ),
  ],
  ['97 times the same single header', 'INVALID_REQUEST', get('/lookup/game/7', `Age: ${'1'.repeat(140)}\n`.repeat(97))],
  ...[
    ['empty parameters', '&'],
    ['parameters without a value', 'a&'],
    ['short parameters', 'a=&'],
    ['escaped parameters', '%61=%62&'],
    ['escapes', '%C3%A9'],
    ['plus signs', '+'],
    ['equals signs', '='],
    ['beginnings of keys', 'service-'],
    ['names of keys in other words', 'apikeys=&'],
  ].flatMap(([what, piece]): [string, string, Entry['bytes']][] => [
    [`a query of ${what}`, 'passes', get(`/bindings/list?${filled(piece as string)}`)],
    [
      `a query of ${what} without a key`,
      'MISSING_API_KEY',
      () => wire(`GET /api/v1/whoami?${filled(piece as string)} ${V}\nHost: x\n\n`),
    ],
  ]),
  [
    'a query of many names',
    'answered here',
    request(`GET /api/v1/whoami?${numbered((index) => `${index}&`, 3_000)} ${V}`),
  ],
  ['a path of slashes', 'ROUTE_NOT_FOUND', get(filled('/'))],
  ['a path of short segments', 'ROUTE_NOT_FOUND', get(filled('/a'))],
  ['a path of dots', 'ROUTE_NOT_FOUND', get(`/${filled('..a/')}`)],
  ['a path of escapes', 'passes', get(`/lookup/game/${filled('%37')}`)],
  ['a guild of escapes', 'GUILD_MISMATCH', get(`/guilds/${filled('%39')}/verified`)],
  ...[
    ['IPv4', '127.0.0.1,'],
    ['IPv6', 'fd00::1,'],
    ['IPv6 written out', 'fd00:1111:2222:3333:4444:5555:6666:7777,'],
    ['IPv6 with ports', '[fd00::1]:80,'],
    ['mapped IPv4', '::ffff:127.0.0.1,'],
    ['empty', ','],
    ['blank', ' ,'],
    ['malformed', 'x,'],
  ].flatMap(([what, piece]): [string, string, Entry['bytes']][] => [
    [
      `addresses forwarded, ${what}`,
      'passes',
      get('/lookup/game/7', `X-Forwarded-For: ${filled(piece as string)}fd00::1\n`),
    ],
    [
      `addresses forwarded, ${what}, without a key`,
      'MISSING_API_KEY',
      () => wire(`GET /api/v1/whoami ${V}\nHost: x\nX-Forwarded-For: ${filled(piece as string)}fd00::1\n\n`),
    ],
  ]),
  ['cookies', 'passes', header('Cookie', 'a=b; ')],
  ['encodings', 'passes', header('Accept-Encoding', 'gzip;q=0.1, ')],
  ['languages', 'passes', header('Accept-Language', 'a,')],
  ['ranges', 'passes', header('Range', '0-0,')],
  ['forwarded elements', 'passes', header('Forwarded', 'for=a,')],
  ['a long request ID', 'passes', header('X-Request-Id', 'a')],
  ['blanks in a value', 'passes', header('X-Blanks', ' ')],
  ['ETags', 'passes', header('If-None-Match', '"a",')],
  ...['/healthz', '/docs', '/openapi.json'].map((path): [string, string, Entry['bytes']] => [
    `ETags for ${path}`,
    'answered here',
    () =>
      wire(
        `GET ${path} ${V}\nHost: x\nIf-None-Match: ${filled('"a",')}"a"\nAccept-Encoding: ${filled('a,', 100)}br\n\n`,
      ),
  ]),
  ['a long search', 'answered here', () => wire(`GET /docs/search?q=${filled('a+e+')} ${V}\nHost: x\n\n`)],
  [
    'a long key',
    'INVALID_API_KEY',
    () => wire(`GET /api/v1/whoami ${V}\nHost: x\nX-API-Key: ${filled('service_9')}\n\n`),
  ],
  [
    'a scheme and blanks',
    'INVALID_API_KEY',
    () => wire(`GET /api/v1/whoami ${V}\nHost: x\nAuthorization: Bearer ${filled(' ')}x\n\n`),
  ],
  ['a long Host', 'INVALID_API_KEY', () => wire(`GET /api/v1/whoami ${V}\nHost: ${filled('x')}\nX-API-Key: x\n\n`)],
  ['empty lines before it', 'passes', (caller) => filled('\r\n') + get('/lookup/game/7')(caller)],
  ['15 KiB of body', 'passes', post(filled('x'))],
  ['2,500 chunks', 'passes', chunked(filled(chunk('x')) + END)],
  [
    '2,500 chunks without a key',
    'MISSING_API_KEY',
    () => wire(`POST /api/v1/reverse ${V}\nHost: x\nTransfer-Encoding: chunked\n\n`) + filled(chunk('x')) + END,
  ],
  ['a long chunk extension', 'passes', chunked(`${chunk(BODY, `;${'a'.repeat(8 * KIB)}`)}${END}`)],
  ['100 trailers', 'passes', chunked(`${chunk(BODY)}0\r\n${`a: ${'b'.repeat(140)}\r\n`.repeat(100)}\r\n`)],
  ['3,900 trailers', 'HEADERS_TOO_LARGE', chunked(`${chunk(BODY)}0\r\n${filled('a:\r\n')}\r\n`)],
];
