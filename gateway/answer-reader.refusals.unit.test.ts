import { describe, expect, it } from 'vitest';
import { AnswerReader } from './answer-reader.ts';
import { bytesOf, CHUNKED, hear, OK, readBothWays as read } from './fixtures/heard.ts';

const withHead = (lines: string) => `${OK}${lines}\n\nhello`;
const withChunk = (text: string) => `${CHUNKED}${text}\n0\n\n`;

describe('refused, before any of its body is told, is an answer with', () => {
  it.each([
    ['two lengths', withHead('content-length: 5\ncontent-length: 6')],
    ['two lengths that are the same', withHead('content-length: 5\nContent-Length: 5')],
    ...[
      '+5',
      '-5',
      '5, 5',
      '5,6',
      '0x5',
      '5 5',
      '5e0',
      '5.0',
      '5;',
      '',
      'five',
      '\xa05',
      '5\x0b',
      '\x005',
      '1'.repeat(16),
    ].map((length) => [`the length ${JSON.stringify(length)}`, withHead(`content-length: ${length}`)]),
    ['no number for a length, but no body', 'HTTP/1.1 304 \ncontent-length: a\n\n'],
    ['a length and chunks', `${OK}content-length: 5\ntransfer-encoding: chunked\n\n0\n\n`],
    ['chunks and a length', `${OK}transfer-encoding: chunked\ncontent-length: 5\n\n0\n\n`],
    ['two encodings', `${OK}transfer-encoding: chunked\ntransfer-encoding: chunked\n\n0\n\n`],
    ...[
      'gzip, chunked',
      'chunked, chunked',
      'chunked, identity',
      'identity',
      'gzip',
      'xchunked',
      'chunked;a',
      '"chunked"',
      '',
      '\x0bchunked',
      '\xa0chunked',
      'chunked\x00',
      'chunked,',
      ',chunked',
      '\tchunked',
      'chunked\t',
    ].map((encoding) => [`the encoding ${JSON.stringify(encoding)}`, `${OK}transfer-encoding: ${encoding}\n\n0\n\n`]),
    ['chunks where there is no body', 'HTTP/1.1 204 \ntransfer-encoding: chunked\n\n0\n\n'],
    ['chunks where nothing has changed', 'HTTP/1.1 304 \ntransfer-encoding: chunked\n\n'],
    ['an interim one of HTTP/1.0', `HTTP/1.0 100 Continue\n\n${OK}\nhello`],
    ['an interim one that closes', `HTTP/1.1 100 Continue\nconnection: close\n\n${OK}\nhello`],
    ['an interim one with a length', `HTTP/1.1 103 \ncontent-length: 0\n\n${OK}\nhello`],
    ['an interim one in chunks', `HTTP/1.1 103 \ntransfer-encoding: chunked\n\n0\n\n${OK}\nhello`],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\nupgrade: h2c\n\n'],
    ...[
      'HTTP/2 200 OK',
      'HTTP/1.2 200 OK',
      'http/1.1 200 OK',
      'HTTP/1.1  200 OK',
      'HTTP/1.1\t200 OK',
      ' HTTP/1.1 200 OK',
      'HTTP/1.1 20 OK',
      'HTTP/1.1 2000 OK',
      'HTTP/1.1 099 OK',
      'HTTP/1.1 2x0 OK',
      'HTTP/1.1 200OK',
      'HTTP/1.1 +20 OK',
      'ICY 200 OK',
      '200 OK',
      '',
      'GET / HTTP/1.1',
      'HTTP/1.1 200 O\0K',
      'HTTP/1.1 200 O\x7fK',
      'HTTP/1.1 200 O\rK',
    ].map((line) => [`the status line ${JSON.stringify(line)}`, `${line}\ncontent-length: 5\n\nhello`]),
    ...[
      'no colon',
      ': no name',
      ' content-length: 5',
      '\tfolded',
      'content-length : 5',
      'content-length\t: 5',
      'a b: c',
      'a\0: b',
      'a\xe9: b',
      'a(: b',
      'a: \0',
      'a: b\x7f',
      'a: b\rc',
      'a: b\r',
      'a: \x0b',
      'connection: clos\x01e',
      'connection : close',
      'keep-alive: \x1f',
      'a: b\n folded: c',
      'a: b\n\tfolded',
    ].map((line) => [`the header ${JSON.stringify(line)}`, withHead(line)]),
  ] as [string, string][])('%s', (_what, text) => {
    expect(read(text, true)).toMatchObject({ body: '', isOver: false, isReusable: false, refusal: expect.any(String) });
  });

  it('ends of lines that are no CRLF', () => {
    const text = bytesOf(`${OK}a: b\ncontent-length: 1\n\na`).toString('latin1');
    for (let at = text.indexOf('\r\n'); at >= 0; at = text.indexOf('\r\n', at + 1)) {
      for (const end of ['\n', '\r', '\n\r', '\r\r\n']) {
        const changed = Buffer.from(text.slice(0, at) + end + text.slice(at + 2), 'latin1');
        expect(hear(new AnswerReader(), [changed], true), `of ${JSON.stringify(String(changed))}`).toMatchObject({
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
      'x'.repeat(17 * 1024),
      `${OK}${'a: b\n'.repeat(4 * 1024)}`,
    ]) {
      expect(read(text).refusal).toBe('its head is too large');
      expect(read(`${text}\n\n`).refusal).toBe('its head is too large');
    }
    expect(read(`${OK}a: ${'b'.repeat(15 * 1024)}\ncontent-length: 0\n\n`).isOver).toBe(true);
  });
});

describe('refused, and never told to be whole, is a body with', () => {
  it.each([
    ...[
      '',
      'g',
      '0x5',
      '-5',
      '+5',
      ' 5',
      '5 ',
      '5\t;a',
      '5,',
      '5;',
      '5;=b',
      '5;a=',
      '5;a="',
      '5;a="b',
      '5;a="b"',
      '5;a b',
      '5;a=\0',
      '5;a="\x01"',
      '5;a\r',
      '5.0',
      '\xb2',
      'f'.repeat(13),
      '1'.repeat(400),
      `5;${'a'.repeat(1024)}`,
      '5\n',
    ].map((size) => [`the chunk size ${JSON.stringify(size.slice(0, 20))}`, withChunk(`${size}\nhello`)]),
    ['a chunk longer than its size', withChunk('4\nhello')],
    ['a chunk shorter than its size', withChunk('6\nhello')],
    ['a chunk that goes on without end', `${CHUNKED}1\n${'a'.repeat(2_000)}`],
    ['a far too large chunk', withChunk('ffffffffffff\nhello')],
    ...[
      'Content-Length: 5',
      'transfer-encoding: chunked',
      'no colon',
      ' folded: a',
      ': a',
      'a : b',
      'a: \0',
      'a\xe9: b',
      'a: \r',
      'a'.repeat(2_000),
    ].map((line) => [`the trailer ${JSON.stringify(line.slice(0, 20))}`, `${CHUNKED}5\nhello\n0\n${line}\n\n`]),
  ] as [string, string][])('%s', (_what, text) => {
    expect(read(text, true)).toMatchObject({ isOver: false, isReusable: false, refusal: expect.any(String) });
  });

  it('ends of lines that are no CRLF', () => {
    const text = `${bytesOf(CHUNKED).toString('latin1')}1\r\na\r\n0\r\na: b\r\n\r\n`;
    for (let at = text.indexOf('\r\n', bytesOf(CHUNKED).length); at >= 0; at = text.indexOf('\r\n', at + 1)) {
      for (const end of ['\n', '\r', '\n\r', '\r\r\n']) {
        const changed = Buffer.from(text.slice(0, at) + end + text.slice(at + 2), 'latin1');
        const heard = hear(new AnswerReader(), [changed], true);
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
    expect(hear(new AnswerReader(), [bytesOf(text + more)])).toMatchObject({
      isOver: false,
      refusal: expect.any(String),
    });
    // Once nothing is asked for, whatever comes is nobody's.
    const reader = new AnswerReader();
    expect(hear(reader, [bytesOf(text)]).isOver).toBe(true);
    expect(() => reader.read(bytesOf(more))).toThrow('nothing was asked');
    expect(reader.isReusable).toBe(false);
  });

  it('every beginning is refused where the connection ends behind it', () => {
    const bytes = bytesOf(text);
    for (let end = 0; end < bytes.length; end++) {
      const heard = hear(new AnswerReader(), [bytes.subarray(0, end)], true);
      expect([heard.isOver, heard.refusal], `${end} bytes`).toEqual([false, 'cut off in its middle']);
    }
  });
});

it('bytes before anything was asked are refused', () => {
  expect(() => new AnswerReader().read(bytesOf(`${OK}content-length: 0\n\n`))).toThrow('nothing was asked');
});
