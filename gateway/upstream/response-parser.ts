import type { HeaderList } from '#kit/http/response-headers.ts';
import { HOP_BY_HOP, withoutBlanks } from '../downstream/headers.ts';
import { BODILESS, checkField, checkFraming, checkStatus, MalformedResponse } from './response-head.ts';

/** As much as Node's own parser takes. */
const MOST_HEAD_BYTES = 16 * 1024;
const MOST_LINE_BYTES = 1024;
const HEAD_END = '\r\n\r\n';
const VERSION = 'HTTP/1.';
const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})(?: ([^]*))?$/;
/** What must stand in the head alone. */
const FRAMING = /^(?:content-length|transfer-encoding)$/;
/** With extensions, but none in quotes. */
const CHUNK_SIZE = /^([\da-fA-F]{1,12})(?:;[\w!#$%&'*+.^`|~-]+(?:=[\w!#$%&'*+.^`|~-]+)?)*$/;

/** Who hears of an answer. What it throws ends the reading. */
export interface AnswerListener {
  /** The status and those headers that are not the connection's own, in their order. */
  onHead(status: number, message: string, headers: Readonly<HeaderList>): void;
  onPiece(piece: Buffer): void;
  /** The end; `whole` is the body where it came in one piece with the head, a byte a character. */
  onEnd(whole: string): void;
}

type Phase = 'nothing' | 'head' | 'length' | 'until close' | 'chunk size' | 'chunk' | 'chunk end' | 'trailer';

interface Head {
  status: number;
  message: string;
  headers: HeaderList;
  isKept: boolean;
  length: string | undefined;
  encoding: string | undefined;
}

/**
 * Reads the answers on one connection, to one GET after another (RFC 9112). It is stricter than servers have to be: what
 * could be read in two ways, or goes on behind its end, is no answer.
 */
export class ResponseParser {
  #phase: Phase = 'nothing';
  #listener: AnswerListener | undefined;
  /** The beginning of a head or a line whose end has not come. */
  #held = '';
  /** Bytes of the body, or of its chunk, that are still to come. */
  #rest = 0;
  #isKept = true;

  /** Whether a part of the answer has come. */
  wasHeardOf = false;

  /** Whether another request may be sent on the connection. */
  get isReusable(): boolean {
    return this.#phase === 'nothing' && this.#isKept;
  }

  /** A GET is being sent: the next bytes answer it. */
  expect(listener: AnswerListener): void {
    this.#listener = listener;
    this.#phase = 'head';
    this.wasHeardOf = false;
  }

  /** MalformedResponse, or what the listener throws: then the connection is of no more use. */
  read(bytes: Buffer): void {
    this.wasHeardOf = true;
    for (let at = 0; at < bytes.length; ) at = this.#step(bytes, at);
  }

  /** The other side has ended the connection; MalformedResponse in the middle of an answer. */
  end(): void {
    if (this.#phase === 'until close') this.#finish('');
    else if (this.#phase !== 'nothing') throw new MalformedResponse('cut off in its middle');
  }

  #step(bytes: Buffer, at: number): number {
    switch (this.#phase) {
      case 'nothing':
        this.#isKept = false;
        throw new MalformedResponse('nothing was asked');
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
    const { length: heldLength } = this.#held;
    const text = this.#held + bytes.toString('latin1', at);
    const end = text.indexOf(HEAD_END);
    if ((end < 0 ? text.length : end) > MOST_HEAD_BYTES) throw new MalformedResponse('its head is too large');
    this.#held = end < 0 ? text : '';
    if (end < 0) {
      // The rest of what cannot become a response is not waited for.
      if (!VERSION.startsWith(text.slice(0, VERSION.length))) throw new MalformedResponse('it has no status line');
      return bytes.length;
    }
    const body = end + HEAD_END.length;
    const head = readHead(text.slice(0, end));
    const next = at + body - heldLength;
    if (head.status >= 200) return this.#begin(head, text.slice(body), bytes, next);
    // Interim ones go before the answer, and have no end to tell of.
    if (!head.isKept || head.length !== undefined || head.encoding !== undefined) {
      throw new MalformedResponse('an interim answer with an end');
    }
    return next;
  }

  /** Whoever reads `text`, which is what came behind the head, has read all bytes. */
  #begin(head: Head, text: string, bytes: Buffer, next: number): number {
    const { status, message, headers } = head;
    const length = this.#frame(head);
    // Before anything of it is relayed, so that its client gets a response that says what happened.
    if (length !== undefined && text.length > length) throw new MalformedResponse('more than was asked for');
    this.#listener?.onHead(status, message, headers);
    if (length === undefined || text.length < length) return next;
    this.#finish(text);
    return bytes.length;
  }

  /** What ends the body; its length where that was told. */
  #frame({ status, isKept, length, encoding }: Head): number | undefined {
    this.#isKept = isKept;
    checkFraming(status, length, encoding);
    if (encoding !== undefined) {
      this.#phase = 'chunk size';
      return undefined;
    }
    const isBodiless = BODILESS.includes(status);
    if (length === undefined && !isBodiless) {
      this.#phase = 'until close';
      this.#isKept = false;
      return undefined;
    }
    this.#phase = 'length';
    this.#rest = isBodiless ? 0 : Number(length);
    return this.#rest;
  }

  #readPiece(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#rest);
    this.#rest -= end - at;
    const isOver = this.#rest === 0;
    if (isOver && this.#phase === 'length' && end < bytes.length)
      throw new MalformedResponse('more than was asked for');
    this.#listener?.onPiece(bytes.subarray(at, end));
    if (!isOver) return end;
    if (this.#phase === 'chunk') this.#phase = 'chunk end';
    else this.#finish('');
    return end;
  }

  #readLine(bytes: Buffer, at: number): number {
    const feed = bytes.indexOf('\n', at);
    const next = feed < 0 ? bytes.length : feed + 1;
    this.#held += bytes.toString('latin1', at, next);
    if (this.#held.length > MOST_LINE_BYTES) throw new MalformedResponse('a line of its body is too long');
    if (feed < 0) return next;
    if (!this.#held.endsWith('\r\n')) throw new MalformedResponse('a line of its body does not end as it should');
    const line = this.#held.slice(0, -2);
    this.#held = '';
    this.#takeLine(line, next === bytes.length);
    return next;
  }

  #takeLine(line: string, isLast: boolean): void {
    if (this.#phase === 'chunk size') {
      const [, size] = CHUNK_SIZE.exec(line) ?? [];
      if (size === undefined) throw new MalformedResponse('a chunk without its size');
      this.#rest = Number.parseInt(size, 16);
      this.#phase = this.#rest > 0 ? 'chunk' : 'trailer';
    } else if (this.#phase === 'chunk end') {
      if (line !== '') throw new MalformedResponse('a chunk is longer than its size');
      this.#phase = 'chunk size';
    } else if (line === '') {
      if (!isLast) throw new MalformedResponse('more than was asked for');
      this.#finish('');
    } else if (FRAMING.test(readField(line).name)) {
      throw new MalformedResponse('a trailer that frames the body');
    }
  }

  #finish(whole: string): void {
    this.#phase = 'nothing';
    this.#listener?.onEnd(whole);
  }
}

/** The head without what ends it. */
function readHead(text: string): Head {
  const lines = text.split('\r\n');
  const [, minor, status, message = ''] = STATUS_LINE.exec(lines[0] as string) ?? [];
  if (status === undefined) throw new MalformedResponse('it has no status line');
  checkStatus(Number(status), message);
  const head: Head = {
    status: Number(status),
    message,
    headers: [],
    isKept: minor === '1',
    length: undefined,
    encoding: undefined,
  };
  for (let index = 1; index < lines.length; index++) addLine(head, lines[index] as string);
  return head;
}

/** A line of the head or the trailer; the name in lower case, the value with the blanks around it. */
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
    if (head.encoding !== undefined) throw new MalformedResponse('it is framed in two ways');
    head.encoding = value;
  } else if (HOP_BY_HOP.has(name)) {
    if (name === 'connection' && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(value)) head.isKept = false;
  } else {
    const text = withoutBlanks(value);
    if (name === 'content-length') {
      if (head.length !== undefined) throw new MalformedResponse('it is framed in two ways');
      head.length = text;
    }
    head.headers.push(name, text);
  }
}
