/** A request parsed according to RFC 9112. */
export interface Message {
  method: string;
  target: string;
  version: string;
  /** Names as sent, trimmed values; in Latin-1, as on the wire. */
  headers: [name: string, value: string][];
  /** How the end of the body is determined. */
  framing: 'none' | 'length' | 'chunked';
  body: Buffer;
  /** The number of trailers after a chunked body. */
  trailers?: number;
}

/** A message at a position in a stream of bytes; `end` is the start of the next one. */
export type Parsed =
  | { kind: 'message'; message: Message; end: number }
  | { kind: 'unfinished'; head?: Head }
  | { kind: 'invalid'; why: string; head?: Head };

type Head = Omit<Message, 'framing' | 'body' | 'trailers'>;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Section 3 permits parsers to accept several spaces; the gateway does not forward such requests.
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) +([\x21-\x7e]+) +HTTP\/(\d\.\d)$/;
// oxlint-disable-next-line no-control-regex
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
// Extensions are not forwarded, and Node's parser accepts one with a value but no name.
// oxlint-disable-next-line no-control-regex
const CHUNK =
  /^([0-9A-Fa-f]{1,15})((?:[\t ]*;[\t ]*(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|(?==))(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]*"))?)*)$/;
const OUTER_SPACE = /^[\t ]+|[\t ]+$/g;

/** Parses the request at `start` by the grammar of RFC 9112, without leniency or limits. */
export function parseMessage(bytes: Buffer, start: number): Parsed {
  let position = start;
  // Section 2.2: empty lines before a request are skipped, and a line feed may be one.
  while (bytes[position] === CR || bytes[position] === LF) position += 1;
  const lines = readLines(bytes, position);
  if (lines.kind !== 'lines') return lines;
  const head = parseHead(lines.lines);
  if (typeof head === 'string') return { kind: 'invalid', why: head };
  const framing = framingOf(head);
  if (typeof framing === 'object') return { kind: 'invalid', head, ...framing };
  return parseBody(bytes, lines.end, head, framing);
}

const [CR, LF] = [13, 10];

type Lines =
  | { kind: 'lines'; lines: string[]; end: number }
  | { kind: 'unfinished' }
  | { kind: 'invalid'; why: string };

/** The lines up to an empty one. A line ends with CR LF; CR and LF cannot occur alone. */
function readLines(bytes: Buffer, start: number): Lines {
  const lines: string[] = [];
  for (let position = start; ; ) {
    const feed = bytes.indexOf(LF, position);
    const line = bytes.toString('latin1', position, feed < 0 ? bytes.length : feed);
    const whole = feed >= 0 && line.endsWith('\r');
    if (feed >= 0 && !whole) return { kind: 'invalid', why: 'a bare line feed' };
    if (line.slice(0, -1).includes('\r')) return { kind: 'invalid', why: 'a bare carriage return' };
    if (!whole) return { kind: 'unfinished' };
    position = feed + 1;
    if (line === '\r') return { kind: 'lines', lines, end: position };
    lines.push(line.slice(0, -1));
  }
}

function parseHead([first = '', ...fields]: string[]): Head | string {
  const [, method, target, version] = REQUEST_LINE.exec(first) ?? [];
  if (!method || !target || !version) return 'a request line that is none';
  const headers = parseFields(fields);
  if (typeof headers === 'string') return headers;
  return { method, target, version, headers };
}

function parseFields(lines: string[]): [string, string][] | string {
  const headers: [string, string][] = [];
  for (const line of lines) {
    const colon = line.indexOf(':');
    const [name, value] = [line.slice(0, Math.max(colon, 0)), line.slice(colon + 1).replace(OUTER_SPACE, '')];
    if (!TOKEN.test(name)) return 'a header name that is none';
    if (!FIELD_VALUE.test(value)) return 'a header value with control characters';
    headers.push([name, value]);
  }
  return headers;
}

/** All values of a header. */
export function valuesOf({ headers }: Pick<Message, 'headers'>, wanted: string): string[] {
  return headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
}

/** Section 6.3. */
function framingOf(head: Head): number | 'chunked' | { why: string } {
  const [encodings, lengths] = [valuesOf(head, 'transfer-encoding'), valuesOf(head, 'content-length')];
  if (encodings.length > 0) {
    if (lengths.length > 0) return { why: 'both lengths' };
    const codings = encodings.join(',').toLowerCase().split(',');
    return codings.at(-1)?.trim() === 'chunked' ? 'chunked' : { why: 'a transfer coding that is not chunked' };
  }
  if (lengths.length > 1) return { why: 'more than one length' };
  if (lengths.length === 0) return 0;
  const [length = ''] = lengths;
  return /^\d{1,15}$/.test(length) ? Number(length) : { why: 'a length that is no number' };
}

function parseBody(bytes: Buffer, start: number, head: Head, framing: number | 'chunked'): Parsed {
  if (typeof framing === 'number') {
    const end = start + framing;
    if (end > bytes.length) return { kind: 'unfinished', head };
    const isGiven = valuesOf(head, 'content-length').length > 0;
    const message: Message = { ...head, framing: isGiven ? 'length' : 'none', body: bytes.subarray(start, end) };
    return { kind: 'message', message, end };
  }
  const chunks: Buffer[] = [];
  for (let position = start; ; ) {
    const feed = bytes.indexOf(LF, position);
    if (feed < 0) return { kind: 'unfinished', head };
    const line = bytes.toString('latin1', position, feed);
    const [, size] = CHUNK.exec(line.slice(0, -1)) ?? [];
    if (!line.endsWith('\r') || !size) return { kind: 'invalid', why: 'a chunk that is none', head };
    const [from, length] = [feed + 1, Number.parseInt(size, 16)];
    if (length === 0) return endOfChunks(bytes, from, head, chunks);
    position = from + length + 2;
    if (position > bytes.length) return { kind: 'unfinished', head };
    if (bytes[position - 2] !== CR || bytes[position - 1] !== LF)
      return { kind: 'invalid', why: 'a chunk without end', head };
    chunks.push(bytes.subarray(from, from + length));
  }
}

function endOfChunks(bytes: Buffer, start: number, head: Head, chunks: Buffer[]): Parsed {
  const trailers = readLines(bytes, start);
  if (trailers.kind !== 'lines') return { ...trailers, head };
  const fields = parseFields(trailers.lines);
  if (typeof fields === 'string') return { kind: 'invalid', why: fields, head };
  const message: Message = { ...head, framing: 'chunked', body: Buffer.concat(chunks), trailers: fields.length };
  return { kind: 'message', message, end: trailers.end };
}
