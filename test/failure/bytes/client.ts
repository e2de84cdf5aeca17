import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

/** The checked parts of a response. */
export interface Answer {
  status: number;
  headers: string;
  /** `details.code` of an error. */
  code?: string;
  /** The fingerprint of the request in the recorder's response. */
  seen?: string;
}

export interface Sending {
  bytes: Buffer;
  /** Positions at which a new write begins, in ascending order. */
  cuts: readonly number[];
  /** Disconnects after this many bytes; default: half-closes and reads to the end. */
  abortAt?: number;
  /** An address of 127.0.0.0/8, so that clients do not share limits per address. */
  from: string;
}

const PATIENCE_MS = 30_000;

/** Sends bytes to `host:port` and returns everything received until the gateway closes the connection. */
export async function send(address: string, { bytes, cuts, abortAt, from }: Sending): Promise<Buffer> {
  const [host = '', port = ''] = address.split(':');
  const socket = connect({ host, port: Number(port), localAddress: from, noDelay: true });
  const received: Buffer[] = [];
  socket.on('data', (data: Buffer) => received.push(data));
  // A gateway that rejects bytes closes the connection while more are being sent.
  socket.on('error', () => socket.destroy());
  const closed = once(socket, 'close');
  socket.setTimeout(PATIENCE_MS, () => socket.destroy());
  await writePieces(socket, bytes.subarray(0, abortAt), cuts);
  if (abortAt === undefined) socket.end();
  else socket.resetAndDestroy();
  await closed;
  return Buffer.concat(received);
}

async function writePieces(socket: Socket, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  let start = 0;
  for (const cut of [...cuts.filter((position) => position < bytes.length), bytes.length]) {
    if (socket.destroyed) return;
    socket.write(bytes.subarray(start, cut));
    start = cut;
    await turn();
  }
}

/** Parses responses; `methods` are those of the requests, in order. Throws for bytes that are not a response. */
export function readAnswers(bytes: Buffer, methods: readonly string[]): Answer[] {
  const answers: Answer[] = [];
  for (let position = 0; position < bytes.length; ) {
    const end = bytes.indexOf('\r\n\r\n', position);
    const head = bytes.toString('latin1', position, end < 0 ? bytes.length : end);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    if (end < 0 || Number.isNaN(status)) throw new Error(`no answer: ${JSON.stringify(head.slice(0, 100))}`);
    position = end + 4;
    if (status === 100) continue;
    // An incomplete request may be a HEAD, which the rejection need not respect.
    const isOver = position === bytes.length || bytes.toString('latin1', position, position + 5) === 'HTTP/';
    const isHead = methods[answers.length] === 'HEAD' ? isOver : isOver && answers.length >= methods.length;
    const body = isHead ? { text: '', end: position } : readBody(bytes, position, head);
    position = body.end;
    answers.push({ status, headers: head.toLowerCase(), ...read(body.text) });
  }
  return answers;
}

function readBody(bytes: Buffer, start: number, head: string): { text: string; end: number } {
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    const end = start + Number(length);
    if (end > bytes.length) throw new Error('an answer was cut off');
    return { text: bytes.toString('utf8', start, end), end };
  }
  if (!/\r\ntransfer-encoding: chunked/i.test(head)) return { text: bytes.toString('utf8', start), end: bytes.length };
  const chunks: Buffer[] = [];
  for (let position = start; ; ) {
    const feed = bytes.indexOf('\r\n', position);
    const size = feed < 0 ? Number.NaN : Number.parseInt(bytes.toString('latin1', position, feed), 16);
    if (Number.isNaN(size)) throw new Error('an answer was cut off');
    position = feed + 2 + size + 2;
    if (size === 0) return { text: Buffer.concat(chunks).toString(), end: position };
    chunks.push(bytes.subarray(feed + 2, feed + 2 + size));
  }
}

function read(text: string): { code?: string; seen?: string } {
  // The documentation is an HTML page.
  if (!text.startsWith('{')) return {};
  const { details, data } = JSON.parse(text) as { details?: { code?: string }; data?: { seen?: string } };
  return { ...(details?.code && { code: details.code }), ...(data?.seen && { seen: data.seen }) };
}
