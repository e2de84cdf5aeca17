import { request } from 'node:http';
import { Duplex } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { amount } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { bytesOf, hear, type ParsedResponse } from './fixtures/response-reader.ts';
import { ResponseParser } from './response-parser.ts';

const SEQUENCES = amount(5_000, 100_000);
const CHANGED = amount(10_000, 300_000);
const SEED = Number(process.env['ANSWER_SEED'] ?? amount(1, Date.now() % 2 ** 31));

const random = seededRandom(SEED);
const below = (limit: number) => wholeNumber(random, limit);
const pick = <Item>(list: readonly Item[]): Item => list[below(list.length)] as Item;
const chance = (share: number) => random() < share;
const several = <Item>(max: number, make: () => Item): Item[] => Array.from({ length: below(max + 1) }, make);

interface TestResponse {
  bytes: Buffer;
  /** True if only the end of the connection ends it. */
  isUntilClose: boolean;
  heard: Omit<ParsedResponse, 'rejection'>;
  isReusable: boolean;
}

const PIECES = [
  '\r\n',
  '0\r\n\r\n',
  'HTTP/1.1 200 OK\r\n',
  'content-length: 3\r\n\r\n',
  '{"a": 1}',
  '\n',
  '\xe9\xa0',
  '\0',
  'a',
];
const bodyText = () => several(20, () => pick(PIECES)).join('');
const cased = (name: string) =>
  pick([name, name.toUpperCase(), name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())]);
const spaced = (text: string) => pick(['', ' ', ' ', '\t', '  ']) + text + pick(['', '', ' ', '\t ']);
const lineOf = (name: string, value: string) => `${cased(name)}:${spaced(value)}\n`;

const HOP_BY_HOP = ['keep-alive', 'trailer', 'te', 'proxy-connection', 'upgrade'];
const END_TO_END = ['x-a', 'x-a', 'date', 'content-type', 'set-cookie', 'set-cookie', 'content-lengths', 'close'];
const VALUES = ['', 'a', 'a \t b', '"c", d', '\xe9', 'Ã\xa0', 'chunked', 'close', 'timeout=5', '12'];

function inChunks(body: string): string {
  let text = '';
  for (let at = 0; at < body.length; ) {
    const size = 1 + below(body.length - at);
    const number = pick(['', '0', '000']) + pick([size.toString(16), size.toString(16).toUpperCase()]);
    text += `${number}${pick(['', '', ';a', ';a=b', ';a=b;c'])}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  const trailers = several(2, () => lineOf(pick(END_TO_END), pick(VALUES))).join('');
  return `${text}${pick(['0', '00', '0;a'])}\r\n${trailers.replaceAll('\n', '\r\n')}\r\n`;
}

/** A random valid response and what the parser has to report. `closesAfterResponse`: the last one of its connection. */
function randomResponse(closesAfterResponse: boolean): TestResponse {
  const framing = pick([
    'length',
    'length',
    'chunks',
    'chunks',
    'none',
    ...(closesAfterResponse ? ['close', 'close'] : []),
  ]);
  const status = framing === 'none' ? pick([204, 304]) : pick([200, 200, 404, 503, 599]);
  const message = pick(['OK', '', 'Not  Found ', 'Fa\xe7on']);
  const body = framing === 'none' ? '' : bodyText();
  const given = several(4, () => [chance(0.2) ? pick(HOP_BY_HOP) : pick(END_TO_END), pick(VALUES)] as const);
  if (framing === 'length' || (status === 304 && chance(0.3))) {
    const length = pick(['', '00']) + (framing === 'length' ? body.length : 7);
    given.splice(below(given.length + 1), 0, ['content-length', length]);
  }
  const headers = given.filter(([name]) => !HOP_BY_HOP.includes(name)).flat();
  const lines = given.map(([name, value]) => lineOf(name, value));
  if (framing === 'chunks')
    lines.splice(below(lines.length + 1), 0, `${cased('transfer-encoding')}:${pick(['', ' '])}${cased('chunked')}\n`);
  const isClosed = closesAfterResponse && chance(0.2);
  if (isClosed) lines.push(lineOf('connection', pick(['close', 'Close', 'x, close', 'close,x'])));
  else if (chance(0.5)) lines.push(lineOf('connection', pick(['keep-alive', 'x-close'])));
  const isOld = closesAfterResponse && framing !== 'chunks' && chance(0.2);
  const interim = chance(0.1) ? pick(['HTTP/1.1 100 Continue\n\n', 'HTTP/1.1 103 \nlink: </a>\n\n']) : '';
  const head = bytesOf(`${interim}HTTP/1.${isOld ? 0 : 1} ${status} ${message}\n${lines.join('')}\n`);
  const rest = framing === 'chunks' ? inChunks(body) : body;
  return {
    bytes: Buffer.concat([head, Buffer.from(rest, 'latin1')]),
    isUntilClose: framing === 'close',
    heard: { status, message, headers, body, isOver: true },
    isReusable: !isClosed && !isOld && framing !== 'close',
  };
}

/** Cuts the bytes into pieces at random places. */
function cut(bytes: Buffer): Buffer[] {
  const places = [0, ...several(6, () => below(bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

it('responses are parsed as they were written, wherever they are cut', { timeout: 120_000 }, () => {
  const seen = { responses: 0, pieces: 0, untilClose: 0, closed: 0 };
  for (let count = 0; count < SEQUENCES; count++) {
    const [whole, inPieces] = [new ResponseParser(), new ResponseParser()];
    const length = 1 + below(3);
    for (let index = 1; index <= length; index++) {
      const { bytes, isUntilClose, heard, isReusable } = randomResponse(index === length);
      const pieces = cut(bytes);
      const shown = JSON.stringify(pieces.map((piece) => piece.toString('latin1')));
      for (const result of [hear(whole, [bytes], isUntilClose), hear(inPieces, pieces, isUntilClose)]) {
        expect(result, `seed ${SEED}: ${shown}`).toEqual({ ...heard, rejection: undefined });
      }
      expect([whole.isReusable, inPieces.isReusable], `seed ${SEED}: ${shown}`).toEqual([isReusable, isReusable]);
      seen.responses += 1;
      seen.pieces += pieces.length;
      if (isUntilClose) seen.untilClose += 1;
      else if (!isReusable) seen.closed += 1;
    }
  }
  printFigure('responses parsed in pieces', `seed ${SEED}: ${JSON.stringify(seen)}`);
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(SEQUENCES / 20);
});

const BYTES = '\r\n \t:;,=-+0159afxAF\0\x01\x0b\x7f\x80\xa0\xff';

/** Changes, removes or inserts one byte, in the head at least as often as in the body. */
function changed(bytes: Buffer): Buffer {
  const at = below(pick([bytes.length, bytes.indexOf('\r\n\r\n') + 4]));
  const byte = Buffer.from([chance(0.7) ? BYTES.charCodeAt(below(BYTES.length)) : below(256)]);
  const [before, after] = pick([
    [at, at + 1],
    [at, at + 1],
    [at, at],
  ] as const);
  return Buffer.concat([bytes.subarray(0, before), chance(0.2) ? Buffer.of() : byte, bytes.subarray(after)]);
}

interface NodeResult {
  status?: number;
  body: string;
  isOver: boolean;
}

/** The result of Node's own client for the bytes, after which the connection ends. */
function byNode(bytes: Buffer): Promise<NodeResult> {
  const socket = new Duplex({
    read: () => undefined,
    write(_chunk, _encoding, done) {
      done();
      this.push(bytes);
      this.push(null);
    },
  });
  return new Promise((resolve) => {
    const result: NodeResult = { body: '', isOver: false };
    const outgoing = request({ createConnection: () => socket, headers: { host: 'x' } });
    outgoing.on('error', () => resolve(result));
    outgoing.on('upgrade', () => resolve(result));
    outgoing.on('response', (response) => {
      result.status = response.statusCode ?? 0;
      response.setEncoding('latin1');
      response.on('data', (text: string) => (result.body += text));
      response.on('error', () => undefined);
      response.on('end', () => (result.isOver = true));
      response.on('close', () => resolve(result));
    });
    outgoing.end();
  });
}

/** True if the parser reports nothing, as a whole or in pieces, that Node does not report too. */
function isNoMore(node: NodeResult, whole: ParsedResponse, inPieces: ParsedResponse): boolean {
  for (const { body, isOver } of [whole, inPieces]) {
    if (isOver ? body !== node.body : !node.body.startsWith(body)) return false;
  }
  if (whole.isOver) return node.isOver && node.status === whole.status && isDeepStrictEqual(inPieces, whole);
  // In pieces the end of the response may arrive before the bytes after it.
  return !inPieces.isOver || whole.rejection === 'bytes after the end of the response';
}

it("of a response with a changed byte no more is accepted than by Node's own client", {
  timeout: 600_000,
}, async () => {
  const seen = { complete: 0, rejected: 0, completeInNode: 0 };
  for (let count = 0; count < CHANGED; count++) {
    const bytes = changed(randomResponse(true).bytes);
    const pieces = cut(bytes);
    const node = await byNode(bytes);
    const whole = hear(new ResponseParser(), [bytes], true);
    const inPieces = hear(new ResponseParser(), pieces, true);
    if (!isNoMore(node, whole, inPieces)) {
      const shown = JSON.stringify({ bytes: bytes.toString('latin1'), node, whole, inPieces });
      throw new Error(`seed ${SEED}, case ${count}: ${shown}`);
    }
    seen.complete += Number(whole.isOver);
    seen.rejected += Number(whole.rejection !== undefined);
    seen.completeInNode += Number(node.isOver);
  }
  printFigure('responses with a changed byte', `${CHANGED} cases, seed ${SEED}: ${JSON.stringify(seen)}`);
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(CHANGED / 10);
});
