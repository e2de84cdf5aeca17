import { describe, expect, it } from 'vitest';
import { bytesOf, CHUNKED, OK, readWholeAndByByte as read } from './fixtures/response-reader.ts';
import { ResponseParser } from './response-parser.ts';

describe('a response is read exactly to its end', () => {
  it.each([
    ['with a length', `${OK}content-length: 5\n\nhello`, 'hello'],
    ['with a length with leading zeros', `${OK}content-length: 005\n\nhello`, 'hello'],
    ['with length 0', `${OK}content-length: 0\n\n`, ''],
    ['in chunks', `${CHUNKED}5\nhello\n00B\n, and more \n0\n\n`, 'hello, and more '],
    ['without any chunk', `${CHUNKED}0\n\n`, ''],
    ['in chunks, in another case', `${OK}Transfer-Encoding:Chunked  \n\n1\na\n0\n\n`, 'a'],
    ['in chunks with extensions', `${CHUNKED}1;a\na\n1;a=b;c\nb\n0;last\n\n`, 'ab'],
    ['in chunks with trailers', `${CHUNKED}1\na\n0\nx-sum: 1\nContent-Lengths: 7\n\n`, 'a'],
    ['of 204', 'HTTP/1.1 204 No Content\n\n', ''],
    ['of 304', 'HTTP/1.1 304 Not Modified\netag: "a"\n\n', ''],
    ['of 304 with the length of a 200', 'HTTP/1.1 304 Not Modified\ncontent-length: 5\n\n', ''],
    ['after interim responses', `HTTP/1.1 100 \n\nHTTP/1.1 103 Early\nlink: </a>\n\n${OK}content-length: 1\n\na`, 'a'],
  ])('%s', (_how, text, body) => {
    const heard = read(text);
    expect([heard.body, heard.isOver, heard.isReusable, heard.rejection]).toEqual([body, true, true, undefined]);
  });

  it('without length and chunks it ends with its connection', () => {
    const text = `${OK}\nhello`;
    expect(read(text)).toMatchObject({ body: 'hello', isOver: false, isReusable: false });
    expect(read(text, true)).toMatchObject({ body: 'hello', isOver: true, isReusable: false });
    expect(read(`${OK}\n`, true)).toMatchObject({ body: '', isOver: true, isReusable: false });
  });

  it('is complete if its connection ends after it', () => {
    expect(read(`${OK}content-length: 1\n\na`, true)).toMatchObject({ body: 'a', isOver: true, rejection: undefined });
  });
});

describe('the head of a response', () => {
  it('is passed on unchanged, with names in lower case and repeated headers in their order', () => {
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

  it.each(['HTTP/1.1 200\n', 'HTTP/1.1 200 \n'])('may have a status without a reason: %j', (line) => {
    expect(read(`${line}content-length: 0\n\n`)).toMatchObject({ status: 200, message: '', isOver: true });
  });

  it('is passed on without hop-by-hop headers', () => {
    const own =
      'Connection: keep-alive\nKeep-Alive: timeout=5\nProxy-Authenticate: a\nTrailer: b\nUpgrade: h2c\nTE: c\n';
    expect(read(`${OK}${own}Transfer-Encoding: chunked\nx-kept: d\n\n0\n\n`).headers).toEqual(['x-kept', 'd']);
  });

  it('may have headers named like properties of every object', () => {
    const { headers } = read(`${OK}constructor: a\n__proto__: b\n__proto__: c\n\n`);
    expect(headers).toEqual(['constructor', 'a', '__proto__', 'b', '__proto__', 'c']);
  });
});

describe('the connection is not reused after a response', () => {
  it.each([
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\ncontent-length: 0\n\n'],
    ['of HTTP/1.0 with keep-alive', 'HTTP/1.0 200 OK\nconnection: keep-alive\ncontent-length: 0\n\n'],
    ['with Connection: close', `${OK}Connection: close\ncontent-length: 0\n\n`],
    ['with close in a list', `${OK}connection: x , \tClose\t,y\ncontent-length: 0\n\n`],
    ['with close in one of two headers', `${OK}connection: close\nconnection: keep-alive\ncontent-length: 0\n\n`],
    ['of 304 with close', 'HTTP/1.1 304 \nconnection: close\n\n'],
    ['in chunks with close', `${OK}connection: close\ntransfer-encoding: chunked\n\n0\n\n`],
  ])('%s', (_which, text) => {
    expect(read(text)).toMatchObject({ isOver: true, isReusable: false });
  });

  it('that is incomplete', () => {
    for (const text of ['', OK, `${OK}content-length: 2\n\na`, CHUNKED, `${CHUNKED}1\na\n0\n`]) {
      expect(read(text)).toMatchObject({ isOver: false, isReusable: false });
    }
  });

  it('the connection is reused after other options of Connection', () => {
    for (const option of ['closed', 'x-close', 'not close', '']) {
      expect(read(`${OK}connection: ${option}\ncontent-length: 0\n\n`).isReusable, `option ${option}`).toBe(true);
    }
  });
});

describe('the response to a HEAD has no body', () => {
  const headTo = (text: string) => {
    const reader = new ResponseParser();
    const events: string[] = [];
    const onPiece = () => events.push('piece');
    reader.expect({ onHead: (status) => events.push(String(status)), onPiece, onEnd: () => events.push('end') }, true);
    return { reader, events, read: () => reader.read(bytesOf(text)) };
  };

  it.each([
    ['with a length', `${OK}content-length: 5\n\n`],
    ['in chunks', CHUNKED],
    ['without a length', `${OK}\n`],
  ])('%s, and the connection is reused', (_framing, text) => {
    const { reader, events, read } = headTo(text);
    read();
    expect([events, reader.isReusable]).toEqual([['200', 'end'], true]);
    // The next response on the connection has a body again.
    reader.expect({ onHead: () => undefined, onPiece: () => undefined, onEnd: (whole) => events.push(whole) });
    reader.read(bytesOf(`${OK}content-length: 5\n\nhello`));
    expect(events.at(-1)).toBe('hello');
  });

  it('bytes after its head are rejected before anything is relayed', () => {
    const { reader, events, read } = headTo(`${OK}content-length: 5\n\nhello`);
    expect(read).toThrow('bytes after the end of the response');
    expect([events, reader.isReusable]).toEqual([[], false]);
  });
});

it('an exception of the listener at the head ends the parsing before the body', () => {
  const reader = new ResponseParser();
  const events: string[] = [];
  const onHead = () => {
    throw new Error('not this one');
  };
  reader.expect({ onHead, onPiece: () => events.push('piece'), onEnd: () => events.push('end') });
  expect(() => reader.read(bytesOf(`${OK}content-length: 1\n\na`))).toThrow('not this one');
  expect([events, reader.isReusable]).toEqual([[], false]);
});
