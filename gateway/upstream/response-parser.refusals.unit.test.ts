import { describe, expect, it } from 'vitest';
import { HOSTILE_BODIES, HOSTILE_HEADS } from '../fixtures/hostile-responses.ts';
import { bytesOf, CHUNKED, hear, OK, readWholeAndByByte as read } from '../fixtures/receiver.ts';
import { ResponseParser } from './response-parser.ts';

describe('refused, before any of its body is told, is an answer with', () => {
  it.each(HOSTILE_HEADS)('%s', (_what, text) => {
    expect(read(text, true)).toMatchObject({ body: '', isOver: false, isReusable: false, refusal: expect.any(String) });
  });

  it('ends of lines that are no CRLF', () => {
    const text = bytesOf(`${OK}a: b\ncontent-length: 1\n\na`).toString('latin1');
    for (let at = text.indexOf('\r\n'); at >= 0; at = text.indexOf('\r\n', at + 1)) {
      for (const end of ['\n', '\r', '\n\r', '\r\r\n']) {
        const changed = Buffer.from(text.slice(0, at) + end + text.slice(at + 2), 'latin1');
        expect(hear(new ResponseParser(), [changed], true), `of ${JSON.stringify(String(changed))}`).toMatchObject({
          body: '',
          isOver: false,
          refusal: expect.any(String),
        });
      }
    }
  });

  it('a head that is too large, as soon as that is seen', () => {
    for (const text of [
      `${OK}a: ${'b'.repeat(16 * 1024)}`,
      `HTTP/1.1 200 ${'x'.repeat(17 * 1024)}`,
      `${OK}${'a: b\n'.repeat(4 * 1024)}`,
    ]) {
      expect(read(text).refusal).toBe('its head is too large');
      expect(read(`${text}\n\n`).refusal).toBe('its head is too large');
    }
    expect(read(`${OK}a: ${'b'.repeat(15 * 1024)}\ncontent-length: 0\n\n`).isOver).toBe(true);
  });
});

it('what cannot become a response is not waited for, and more than a response is seen before its head is relayed', () => {
  expect(hear(new ResponseParser(), [Buffer.from('hello')], false).refusal).toBe('it has no status line');
  expect(hear(new ResponseParser(), [Buffer.from('HTTP')], false).refusal).toBeUndefined();
  const twice = bytesOf(`${OK}content-length: 4\n\nhere`.repeat(2));
  const relayed = hear(new ResponseParser(), [twice], false);
  expect([relayed.status, relayed.refusal]).toEqual([undefined, 'more than was asked for']);
});

describe('refused, and never told to be whole, is a body with', () => {
  it.each(HOSTILE_BODIES)('%s', (_what, text) => {
    expect(read(text, true)).toMatchObject({ isOver: false, isReusable: false, refusal: expect.any(String) });
  });

  it('ends of lines that are no CRLF', () => {
    const text = `${bytesOf(CHUNKED).toString('latin1')}1\r\na\r\n0\r\na: b\r\n\r\n`;
    for (let at = text.indexOf('\r\n', bytesOf(CHUNKED).length); at >= 0; at = text.indexOf('\r\n', at + 1)) {
      for (const end of ['\n', '\r', '\n\r', '\r\r\n']) {
        const changed = Buffer.from(text.slice(0, at) + end + text.slice(at + 2), 'latin1');
        const heard = hear(new ResponseParser(), [changed], true);
        expect([heard.isOver, typeof heard.refusal], `of ${JSON.stringify(String(changed))}`).toEqual([
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
  ['an interim one before it', `HTTP/1.1 100 Continue\n\n${OK}content-length: 1\n\na`],
] as const;

describe.each(ENDINGS)('of an answer with %s', (_how, text) => {
  it.each([
    ['another answer', OK],
    ['a byte', 'x'],
    ['an end of a line', '\n'],
    ['a NUL', '\0'],
  ])('%s behind its end is refused', (_what, more) => {
    expect(hear(new ResponseParser(), [bytesOf(text + more)])).toMatchObject({
      isOver: false,
      refusal: expect.any(String),
    });
    // Once nothing is asked for, whatever comes is nobody's.
    const reader = new ResponseParser();
    expect(hear(reader, [bytesOf(text)]).isOver).toBe(true);
    expect(() => reader.read(bytesOf(more))).toThrow('nothing was asked');
    expect(reader.isReusable).toBe(false);
  });

  it('every beginning is refused where the connection ends behind it', () => {
    const bytes = bytesOf(text);
    for (let end = 0; end < bytes.length; end++) {
      const heard = hear(new ResponseParser(), [bytes.subarray(0, end)], true);
      expect([heard.isOver, heard.refusal], `${end} bytes`).toEqual([false, 'cut off in its middle']);
    }
  });
});

it('bytes before anything was asked are refused', () => {
  expect(() => new ResponseParser().read(bytesOf(`${OK}content-length: 0\n\n`))).toThrow('nothing was asked');
});
