import { request } from 'node:http';
import { Duplex } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { amount } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { bytesOf, hear, type ParsedResponse } from '../fixtures/receiver.ts';
import { ResponseParser } from './response-parser.ts';

const SEQUENCES = amount(5_000, 100_000);
const CHANGED = amount(10_000, 300_000);
const SEED = Number(process.env['ANSWER_SEED'] ?? amount(1, Date.now() % 2 ** 31));

const random = seededRandom(SEED);
const below = (limit: number) => wholeNumber(random, limit);
const pick = <Item>(list: readonly Item[]): Item => list[below(list.length)] as Item;
const chance = (share: number) => random() < share;
const several = <Item>(most: number, make: () => Item): Item[] => Array.from({ length: below(most + 1) }, make);

interface Answer {
  bytes: Buffer;
  /** Only the end of the connection ends it. */
  isUntilClose: boolean;
  heard: Omit<ParsedResponse, 'refusal'>;
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

const OWN = ['keep-alive', 'trailer', 'te', 'proxy-connection', 'upgrade'];
const PASSED = ['x-a', 'x-a', 'date', 'content-type', 'set-cookie', 'set-cookie', 'content-lengths', 'close'];
const VALUES = ['', 'a', 'a \t b', '"c", d', '\xe9', 'Ã\xa0', 'chunked', 'close', 'timeout=5', '12'];

function inChunks(body: string): string {
  let text = '';
  for (let at = 0; at < body.length; ) {
    const size = 1 + below(body.length - at);
    const number = pick(['', '0', '000']) + pick([size.toString(16), size.toString(16).toUpperCase()]);
    text += `${number}${pick(['', '', ';a', ';a=b', ';a=b;c'])}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  const trailers = several(2, () => lineOf(pick(PASSED), pick(VALUES))).join('');
  return `${text}${pick(['0', '00', '0;a'])}\r\n${trailers.replaceAll('\n', '\r\n')}\r\n`;
}

/** A valid answer, the last of its connection or not, and what has to be told of it. */
function randomAnswer(isLast: boolean): Answer {
  const framing = pick(['length', 'length', 'chunks', 'chunks', 'none', ...(isLast ? ['close', 'close'] : [])]);
  const status = framing === 'none' ? pick([204, 304]) : pick([200, 200, 404, 503, 599]);
  const message = pick(['OK', '', 'Not  Found ', 'Fa\xe7on']);
  const body = framing === 'none' ? '' : bodyText();
  const given = several(4, () => [chance(0.2) ? pick(OWN) : pick(PASSED), pick(VALUES)] as const);
  if (framing === 'length' || (status === 304 && chance(0.3))) {
    const length = pick(['', '00']) + (framing === 'length' ? body.length : 7);
    given.splice(below(given.length + 1), 0, ['content-length', length]);
  }
  const headers = given.filter(([name]) => !OWN.includes(name)).flat();
  const lines = given.map(([name, value]) => lineOf(name, value));
  if (framing === 'chunks')
    lines.splice(below(lines.length + 1), 0, `${cased('transfer-encoding')}:${pick(['', ' '])}${cased('chunked')}\n`);
  const isClosed = isLast && chance(0.2);
  if (isClosed) lines.push(lineOf('connection', pick(['close', 'Close', 'x, close', 'close,x'])));
  else if (chance(0.5)) lines.push(lineOf('connection', pick(['keep-alive', 'x-close'])));
  const isOld = isLast && framing !== 'chunks' && chance(0.2);
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

/** The bytes in pieces, cut at any places. */
function cut(bytes: Buffer): Buffer[] {
  const places = [0, ...several(6, () => below(bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

it('answers one after another are told as they were written, wherever they are cut', { timeout: 120_000 }, () => {
  const seen = { answers: 0, pieces: 0, untilClose: 0, closed: 0 };
  for (let count = 0; count < SEQUENCES; count++) {
    const [whole, inPieces] = [new ResponseParser(), new ResponseParser()];
    const length = 1 + below(3);
    for (let index = 1; index <= length; index++) {
      const { bytes, isUntilClose, heard, isReusable } = randomAnswer(index === length);
      const pieces = cut(bytes);
      const shown = JSON.stringify(pieces.map((piece) => piece.toString('latin1')));
      for (const told of [hear(whole, [bytes], isUntilClose), hear(inPieces, pieces, isUntilClose)]) {
        expect(told, `seed ${SEED}: ${shown}`).toEqual({ ...heard, refusal: undefined });
      }
      expect([whole.isReusable, inPieces.isReusable], `seed ${SEED}: ${shown}`).toEqual([isReusable, isReusable]);
      seen.answers += 1;
      seen.pieces += pieces.length;
      if (isUntilClose) seen.untilClose += 1;
      else if (!isReusable) seen.closed += 1;
    }
  }
  printFigure('answers read in pieces', `seed ${SEED}: ${JSON.stringify(seen)}`);
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(SEQUENCES / 20);
});

const BYTES = '\r\n \t:;,=-+0159afxAF\0\x01\x0b\x7f\x80\xa0\xff';

/** One byte is another, or gone, or new, in the head at least as often as behind it. */
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

interface ToldByNode {
  status?: number;
  body: string;
  isOver: boolean;
}

/** What Node's own client tells of the bytes, behind which the connection ends. */
function byNode(bytes: Buffer): Promise<ToldByNode> {
  const socket = new Duplex({
    read: () => undefined,
    write(_chunk, _encoding, done) {
      done();
      this.push(bytes);
      this.push(null);
    },
  });
  return new Promise((resolve) => {
    const told: ToldByNode = { body: '', isOver: false };
    const outgoing = request({ createConnection: () => socket, headers: { host: 'x' } });
    outgoing.on('error', () => resolve(told));
    outgoing.on('upgrade', () => resolve(told));
    outgoing.on('response', (answer) => {
      told.status = answer.statusCode ?? 0;
      answer.setEncoding('latin1');
      answer.on('data', (text: string) => (told.body += text));
      answer.on('error', () => undefined);
      answer.on('end', () => (told.isOver = true));
      answer.on('close', () => resolve(told));
    });
    outgoing.end();
  });
}

/** Whether nothing was told, as a whole or in pieces, that Node does not tell as well. */
function isNoMore(node: ToldByNode, whole: ParsedResponse, inPieces: ParsedResponse): boolean {
  for (const { body, isOver } of [whole, inPieces]) {
    if (isOver ? body !== node.body : !node.body.startsWith(body)) return false;
  }
  if (whole.isOver) return node.isOver && node.status === whole.status && isDeepStrictEqual(inPieces, whole);
  // The end, and what is behind it, may come one after the other.
  return !inPieces.isOver || whole.refusal === 'more than was asked for';
}

it("of answers with a changed byte no more is told than by Node's own client", { timeout: 600_000 }, async () => {
  const seen = { over: 0, refused: 0, nodeOver: 0 };
  for (let count = 0; count < CHANGED; count++) {
    const bytes = changed(randomAnswer(true).bytes);
    const pieces = cut(bytes);
    const node = await byNode(bytes);
    const whole = hear(new ResponseParser(), [bytes], true);
    const inPieces = hear(new ResponseParser(), pieces, true);
    if (!isNoMore(node, whole, inPieces)) {
      const shown = JSON.stringify({ bytes: bytes.toString('latin1'), node, whole, inPieces });
      throw new Error(`seed ${SEED}, case ${count}: ${shown}`);
    }
    seen.over += Number(whole.isOver);
    seen.refused += Number(whole.refusal !== undefined);
    seen.nodeOver += Number(node.isOver);
  }
  printFigure('answers with a changed byte', `${CHANGED} cases, seed ${SEED}: ${JSON.stringify(seen)}`);
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(CHANGED / 10);
});
