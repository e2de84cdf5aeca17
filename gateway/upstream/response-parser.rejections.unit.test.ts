import { describe, expect, it } from 'vitest';
import { HOSTILE_BODIES, HOSTILE_HEADS } from './fixtures/hostile-responses.ts';
import { bytesOf, CHUNKED, hear, OK, readWholeAndByByte as read } from './fixtures/response-reader.ts';
import { ResponseParser } from './response-parser.ts';

describe('rejected before any of its body is a response with', () => {
  it.each(HOSTILE_HEADS)('%s', (_fault, text) => {
    expect(read(text, true)).toMatchObject({
      body: '',
      isOver: false,
      isReusable: false,
      rejection: expect.any(String),
    });
  });

  it('line ends other than CRLF', () => {
    const text = bytesOf(`${OK}a: b\ncontent-length: 1\n\na`).toString('latin1');
    for (let at = text.indexOf('\r\n'); at >= 0; at = text.indexOf('\r\n', at + 1)) {
      for (const end of ['\n', '\r', '\n\r', '\r\r\n']) {
        const changed = Buffer.from(text.slice(0, at) + end + text.slice(at + 2), 'latin1');
        expect(hear(new ResponseParser(), [changed], true), `of ${JSON.stringify(String(changed))}`).toMatchObject({
          body: '',
          isOver: false,
          rejection: expect.any(String),
        });
      }
    }
  });

  it('a head that is too large, immediately', () => {
    for (const text of [
      `${OK}a: ${'b'.repeat(16 * 1024)}`,
      `HTTP/1.1 200 ${'x'.repeat(17 * 1024)}`,
      `${OK}${'a: b\n'.repeat(4 * 1024)}`,
    ]) {
      expect(read(text).rejection).toBe('the head is too large');
      expect(read(`${text}\n\n`).rejection).toBe('the head is too large');
    }
    expect(read(`${OK}a: ${'b'.repeat(15 * 1024)}\ncontent-length: 0\n\n`).isOver).toBe(true);
  });
});

it('bytes that cannot become a response, and bytes after a response, are rejected immediately', () => {
  expect(hear(new ResponseParser(), [Buffer.from('hello')], false).rejection).toBe('the status line is invalid');
  expect(hear(new ResponseParser(), [Buffer.from('HTTP')], false).rejection).toBeUndefined();
  const twice = bytesOf(`${OK}content-length: 4\n\nhere`.repeat(2));
  const relayed = hear(new ResponseParser(), [twice], false);
  expect([relayed.status, relayed.rejection]).toEqual([undefined, 'bytes after the end of the response']);
});

describe('rejected and never reported as complete is a body with', () => {
  it.each(HOSTILE_BODIES)('%s', (_fault, text) => {
    expect(read(text, true)).toMatchObject({ isOver: false, isReusable: false, rejection: expect.any(String) });
  });

  it('line ends other than CRLF', () => {
    const text = `${bytesOf(CHUNKED).toString('latin1')}1\r\na\r\n0\r\na: b\r\n\r\n`;
    for (let at = text.indexOf('\r\n', bytesOf(CHUNKED).length); at >= 0; at = text.indexOf('\r\n', at + 1)) {
      for (const end of ['\n', '\r', '\n\r', '\r\r\n']) {
        const changed = Buffer.from(text.slice(0, at) + end + text.slice(at + 2), 'latin1');
        const heard = hear(new ResponseParser(), [changed], true);
        expect([heard.isOver, typeof heard.rejection], `of ${JSON.stringify(String(changed))}`).toEqual([
          false,
          'string',
        ]);
      }
    }
  });
});

const ENDINGS = [
  ['a length', `${OK}content-length: 5\n\nhello`],
  ['length 0', `${OK}content-length: 0\n\n`],
  ['chunks', `${CHUNKED}5;a=b\nhello\n0\nx-sum: 1\n\n`],
  ['no body', 'HTTP/1.1 204 No Content\nconnection: keep-alive\n\n'],
  ['an interim response before it', `HTTP/1.1 100 Continue\n\n${OK}content-length: 1\n\na`],
] as const;

describe.each(ENDINGS)('a response with %s', (_framing, text) => {
  it.each([
    ['another response', OK],
    ['a byte', 'x'],
    ['an end of a line', '\n'],
    ['a NUL', '\0'],
  ])('%s after its end is rejected', (_bytes, more) => {
    expect(hear(new ResponseParser(), [bytesOf(text + more)])).toMatchObject({
      isOver: false,
      rejection: expect.any(String),
    });
    // Without a request in flight all bytes are rejected.
    const reader = new ResponseParser();
    expect(hear(reader, [bytesOf(text)]).isOver).toBe(true);
    expect(() => reader.read(bytesOf(more))).toThrow('bytes without a request');
    expect(reader.isReusable).toBe(false);
  });

  it('is rejected if the connection ends anywhere in it', () => {
    const bytes = bytesOf(text);
    for (let end = 0; end < bytes.length; end++) {
      const heard = hear(new ResponseParser(), [bytes.subarray(0, end)], true);
      expect([heard.isOver, heard.rejection], `${end} bytes`).toEqual([false, 'the response was cut off']);
    }
  });
});

it('bytes before the first request are rejected', () => {
  expect(() => new ResponseParser().read(bytesOf(`${OK}content-length: 0\n\n`))).toThrow('bytes without a request');
});
