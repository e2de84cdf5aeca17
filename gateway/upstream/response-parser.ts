import { HOP_BY_HOP, trimSpacesAndTabs } from '#kit/downstream/headers.ts';
import type { HeaderList } from '#kit/http/response-headers.ts';
import { BODILESS, checkField, checkFraming, checkStatus, MalformedResponse } from './response-head.ts';

/** The maximum size of a response head in bytes, the same as in Node's own parser. */
const MAX_HEAD_BYTES = 16 * 1024;
const MAX_LINE_BYTES = 1024;
const HEAD_END = '\r\n\r\n';
const VERSION = 'HTTP/1.';
const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})(?: ([^]*))?$/;
/** Matches the headers that frame a body and must not be trailers. */
const FRAMING = /^(?:content-length|transfer-encoding)$/;
/** Matches the size line of a chunk. Chunk extensions are allowed, but not with quoted values. */
const CHUNK_SIZE = /^([\da-fA-F]{1,12})(?:;[\w!#$%&'*+.^`|~-]+(?:=[\w!#$%&'*+.^`|~-]+)?)*$/;

/** Receives the parts of a response from the parser. An exception from the listener ends the parsing. */
export interface ResponseListener {
  /** Called with the status and the end-to-end headers of the response, in their order. */
  onHead(status: number, message: string, headers: Readonly<HeaderList>): void;
  onPiece(piece: Buffer): void;
  /**
   * Called at the end of the response. `rest` is the whole body as Latin-1 text if it arrived together with the head,
   * otherwise empty.
   */
  onEnd(rest: string): void;
}

type Phase = 'idle' | 'head' | 'length' | 'until close' | 'chunk size' | 'chunk' | 'chunk end' | 'trailer';

interface Head {
  status: number;
  message: string;
  headers: HeaderList;
  isKeptAlive: boolean;
  length: string | undefined;
  encoding: string | undefined;
}

/**
 * Parses the responses on one connection to a service, to one request after another (RFC 9112). The parser is stricter
 * than the RFC: it rejects responses that two parsers could read differently, and bytes after the end of a response.
 */
export class ResponseParser {
  #phase: Phase = 'idle';
  #listener: ResponseListener | undefined;
  /** The received part of an incomplete response head or line. */
  #partial = '';
  /** The number of bytes of the body or of the chunk that are still missing. */
  #missing = 0;
  #isKeptAlive = true;
  /** True if the response is to a HEAD request and so has no body, whatever the response headers say. */
  #isHead = false;

  /** True if a part of the current response was received. */
  hasReceivedBytes = false;

  /** True if another request may be sent on the connection. */
  get isReusable(): boolean {
    return this.#phase === 'idle' && this.#isKeptAlive;
  }

  /** Prepares for the response to a request that is being sent. */
  expect(listener: ResponseListener, isHead = false): void {
    this.#listener = listener;
    this.#isHead = isHead;
    this.#phase = 'head';
    this.hasReceivedBytes = false;
  }

  /**
   * Parses received bytes. Throws MalformedResponse or an exception of the listener; then the connection cannot be used
   * any more.
   */
  read(bytes: Buffer): void {
    this.hasReceivedBytes = true;
    for (let at = 0; at < bytes.length; ) at = this.#step(bytes, at);
  }

  /** Called when the service has ended the connection. Throws MalformedResponse if a response is incomplete. */
  end(): void {
    if (this.#phase === 'until close') this.#finish('');
    else if (this.#phase !== 'idle') throw new MalformedResponse('the response was cut off');
  }

  #step(bytes: Buffer, at: number): number {
    switch (this.#phase) {
      case 'idle':
        this.#isKeptAlive = false;
        throw new MalformedResponse('bytes without a request');
      case 'head':
        return this.#readHead(bytes, at);
      case 'until close':
        this.#listener?.onPiece(at === 0 ? bytes : bytes.subarray(at));
        return bytes.length;
      case 'length':
      case 'chunk':
        return this.#readPiece(bytes, at);
      default:
        return this.#readLine(bytes, at);
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const { length: partialLength } = this.#partial;
    const text = this.#partial + bytes.toString('latin1', at);
    const end = text.indexOf(HEAD_END);
    if ((end < 0 ? text.length : end) > MAX_HEAD_BYTES) throw new MalformedResponse('the head is too large');
    this.#partial = end < 0 ? text : '';
    if (end < 0) {
      // Bytes that cannot become a response are rejected without waiting for more bytes.
      if (!VERSION.startsWith(text.slice(0, VERSION.length))) throw new MalformedResponse('the status line is invalid');
      return bytes.length;
    }
    const body = end + HEAD_END.length;
    const head = readHead(text.slice(0, end));
    const next = at + body - partialLength;
    if (head.status >= 200) return this.#begin(head, text.slice(body), bytes, next);
    // An interim (1xx) response precedes the final response and has no body.
    if (!head.isKeptAlive || head.length !== undefined || head.encoding !== undefined) {
      throw new MalformedResponse('an interim response has a body or closes the connection');
    }
    return next;
  }

  /**
   * Begins the body of a response. `text` holds the bytes after the head; returns the position in `bytes` to continue
   * at.
   */
  #begin(head: Head, text: string, bytes: Buffer, next: number): number {
    const { status, message, headers } = head;
    const length = this.#frame(head);
    // The length is checked before the head is relayed, so that the client can still get an error response.
    if (length !== undefined && text.length > length)
      throw new MalformedResponse('bytes after the end of the response');
    this.#listener?.onHead(status, message, headers);
    if (length === undefined || text.length < length) return next;
    this.#finish(text);
    return bytes.length;
  }

  /** Determines how the end of a response's body is found. Returns the body's length, if it is known. */
  #frame({ status, isKeptAlive, length, encoding }: Head): number | undefined {
    this.#isKeptAlive = isKeptAlive;
    checkFraming(status, length, encoding);
    const isBodiless = this.#isHead || BODILESS.includes(status);
    if (encoding !== undefined && !isBodiless) {
      this.#phase = 'chunk size';
      return undefined;
    }
    if (length === undefined && !isBodiless) {
      this.#phase = 'until close';
      this.#isKeptAlive = false;
      return undefined;
    }
    this.#phase = 'length';
    this.#missing = isBodiless ? 0 : Number(length);
    return this.#missing;
  }

  #readPiece(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#missing);
    this.#missing -= end - at;
    const isOver = this.#missing === 0;
    if (isOver && this.#phase === 'length' && end < bytes.length)
      throw new MalformedResponse('bytes after the end of the response');
    this.#listener?.onPiece(bytes.subarray(at, end));
    if (!isOver) return end;
    if (this.#phase === 'chunk') this.#phase = 'chunk end';
    else this.#finish('');
    return end;
  }

  #readLine(bytes: Buffer, at: number): number {
    const feed = bytes.indexOf('\n', at);
    const next = feed < 0 ? bytes.length : feed + 1;
    this.#partial += bytes.toString('latin1', at, next);
    if (this.#partial.length > MAX_LINE_BYTES) throw new MalformedResponse('a line of the chunked body is too long');
    if (feed < 0) return next;
    if (!this.#partial.endsWith('\r\n'))
      throw new MalformedResponse('a line of the chunked body does not end with CRLF');
    const line = this.#partial.slice(0, -2);
    this.#partial = '';
    this.#takeLine(line, next === bytes.length);
    return next;
  }

  #takeLine(line: string, closesAfterResponse: boolean): void {
    if (this.#phase === 'chunk size') {
      const [, size] = CHUNK_SIZE.exec(line) ?? [];
      if (size === undefined) throw new MalformedResponse('a chunk size is invalid');
      this.#missing = Number.parseInt(size, 16);
      this.#phase = this.#missing > 0 ? 'chunk' : 'trailer';
    } else if (this.#phase === 'chunk end') {
      if (line !== '') throw new MalformedResponse('a chunk is longer than its size');
      this.#phase = 'chunk size';
    } else if (line === '') {
      if (!closesAfterResponse) throw new MalformedResponse('bytes after the end of the response');
      this.#finish('');
    } else if (FRAMING.test(readField(line).name)) {
      throw new MalformedResponse('a trailer frames the body');
    }
  }

  #finish(rest: string): void {
    this.#phase = 'idle';
    this.#listener?.onEnd(rest);
  }
}

/** Parses a response head without the empty line at its end. */
function readHead(text: string): Head {
  const lines = text.split('\r\n');
  const [, minor, status, message = ''] = STATUS_LINE.exec(lines[0] as string) ?? [];
  if (status === undefined) throw new MalformedResponse('the status line is invalid');
  checkStatus(Number(status), message);
  const head: Head = {
    status: Number(status),
    message,
    headers: [],
    isKeptAlive: minor === '1',
    length: undefined,
    encoding: undefined,
  };
  for (let index = 1; index < lines.length; index++) addLine(head, lines[index] as string);
  return head;
}

/** Parses one header line of a response head or trailer. The name is in lower case, the value is not trimmed. */
function readField(line: string): { name: string; value: string } {
  const colon = line.indexOf(':');
  if (colon < 0) throw new MalformedResponse('a header has no colon');
  const name = line.slice(0, colon).toLowerCase();
  const value = line.slice(colon + 1);
  checkField(name, value);
  return { name, value };
}

function addLine(head: Head, line: string): void {
  const { name, value } = readField(line);
  if (name === 'transfer-encoding') {
    if (head.encoding !== undefined) throw new MalformedResponse('the framing is ambiguous');
    head.encoding = value;
  } else if (HOP_BY_HOP.has(name)) {
    if (name === 'connection' && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(value)) head.isKeptAlive = false;
  } else {
    const text = trimSpacesAndTabs(value);
    if (name === 'content-length') {
      if (head.length !== undefined) throw new MalformedResponse('the framing is ambiguous');
      head.length = text;
    }
    head.headers.push(name, text);
  }
}
