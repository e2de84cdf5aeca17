import { describe, expect, it } from 'vitest';
import { bytesOf, CHUNKED, OK, readWholeAndByByte as read } from '../fixtures/receiver.ts';
import { ResponseParser } from './response-parser.ts';

describe('an answer is read to its end, and no further', () => {
  it.each([
    ['of a length', `${OK}content-length: 5\n\nhello`, 'hello'],
    ['of a length with zeros before it', `${OK}content-length: 005\n\nhello`, 'hello'],
    ['of length 0', `${OK}content-length: 0\n\n`, ''],
    ['in chunks', `${CHUNKED}5\nhello\n00B\n, and more \n0\n\n`, 'hello, and more '],
    ['in no chunk', `${CHUNKED}0\n\n`, ''],
    ['in chunks, however that is written', `${OK}Transfer-Encoding:Chunked  \n\n1\na\n0\n\n`, 'a'],
    ['in chunks with extensions', `${CHUNKED}1;a\na\n1;a=b;c\nb\n0;last\n\n`, 'ab'],
    ['in chunks with trailers', `${CHUNKED}1\na\n0\nx-sum: 1\nContent-Lengths: 7\n\n`, 'a'],
    ['of 204', 'HTTP/1.1 204 No Content\n\n', ''],
    ['of 304', 'HTTP/1.1 304 Not Modified\netag: "a"\n\n', ''],
    ['of 304 that tells what a 200 would have', 'HTTP/1.1 304 Not Modified\ncontent-length: 5\n\n', ''],
    ['behind interim ones', `HTTP/1.1 100 \n\nHTTP/1.1 103 Early\nlink: </a>\n\n${OK}content-length: 1\n\na`, 'a'],
  ])('%s', (_how, text, body) => {
    const heard = read(text);
    expect([heard.body, heard.isOver, heard.isReusable, heard.refusal]).toEqual([body, true, true, undefined]);
  });

  it('that has neither length nor chunks ends with its connection', () => {
    const text = `${OK}\nhello`;
    expect(read(text)).toMatchObject({ body: 'hello', isOver: false, isReusable: false });
    expect(read(text, true)).toMatchObject({ body: 'hello', isOver: true, isReusable: false });
    expect(read(`${OK}\n`, true)).toMatchObject({ body: '', isOver: true, isReusable: false });
  });

  it('whose connection ends behind it is whole all the same', () => {
    expect(read(`${OK}content-length: 1\n\na`, true)).toMatchObject({ body: 'a', isOver: true, refusal: undefined });
  });
});

describe('what an answer says of itself', () => {
  it('is told as it came, with names in lower case, repeated headers in their order, and no byte lost', () => {
    const text = `HTTP/1.1 418 Short and st\xf6ut\nX-Latin:  \xe9 \xa0\t\nX-None:\nSet-Cookie: a\nset-cookie: b\nSET-COOKIE: c\n`;
    expect(read(`${text}content-length: 0\n\n`)).toMatchObject({
      status: 418,
      message: 'Short and st\xf6ut',
      headers: [
        ['x-latin', '\xe9 \xa0'],
        ['x-none', ''],
        ['set-cookie', 'a'],
        ['set-cookie', 'b'],
        ['set-cookie', 'c'],
        ['content-length', '0'],
      ].flat(),
    });
  });

  it.each(['HTTP/1.1 200\n', 'HTTP/1.1 200 \n'])('may be no more than a number: %j', (line) => {
    expect(read(`${line}content-length: 0\n\n`)).toMatchObject({ status: 200, message: '', isOver: true });
  });

  it("leaves out what is its connection's own", () => {
    const own =
      'Connection: keep-alive\nKeep-Alive: timeout=5\nProxy-Authenticate: a\nTrailer: b\nUpgrade: h2c\nTE: c\n';
    expect(read(`${OK}${own}Transfer-Encoding: chunked\nx-kept: d\n\n0\n\n`).headers).toEqual(['x-kept', 'd']);
  });

  it('may be named like what every object has', () => {
    const { headers } = read(`${OK}constructor: a\n__proto__: b\n__proto__: c\n\n`);
    expect(headers).toEqual(['constructor', 'a', '__proto__', 'b', '__proto__', 'c']);
  });
});

describe('no second request is sent on a connection', () => {
  it.each([
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\ncontent-length: 0\n\n'],
    ['of HTTP/1.0 that would be kept', 'HTTP/1.0 200 OK\nconnection: keep-alive\ncontent-length: 0\n\n'],
    ['that is told to close', `${OK}Connection: close\ncontent-length: 0\n\n`],
    ['that is told to close in a list', `${OK}connection: x , \tClose\t,y\ncontent-length: 0\n\n`],
    ['that is told to close in one of two', `${OK}connection: close\nconnection: keep-alive\ncontent-length: 0\n\n`],
    ['that is told to close by a 304', 'HTTP/1.1 304 \nconnection: close\n\n'],
    ['that is told to close behind chunks', `${OK}connection: close\ntransfer-encoding: chunked\n\n0\n\n`],
  ])('%s', (_which, text) => {
    expect(read(text)).toMatchObject({ isOver: true, isReusable: false });
  });

  it('whose answer is not at its end', () => {
    for (const text of ['', OK, `${OK}content-length: 2\n\na`, CHUNKED, `${CHUNKED}1\na\n0\n`]) {
      expect(read(text)).toMatchObject({ isOver: false, isReusable: false });
    }
  });

  it('but on one that was told of something else', () => {
    for (const option of ['closed', 'x-close', 'not close', '']) {
      expect(read(`${OK}connection: ${option}\ncontent-length: 0\n\n`).isReusable, `told of ${option}`).toBe(true);
    }
  });
});

it('what the listener throws at a head ends the reading before any of the body is told', () => {
  const reader = new ResponseParser();
  const told: string[] = [];
  const onHead = () => {
    throw new Error('not this one');
  };
  reader.expect({ onHead, onPiece: () => told.push('piece'), onEnd: () => told.push('end') });
  expect(() => reader.read(bytesOf(`${OK}content-length: 1\n\na`))).toThrow('not this one');
  expect([told, reader.isReusable]).toEqual([[], false]);
});
