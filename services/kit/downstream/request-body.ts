import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../errors.ts';
import { BODY_LIMIT } from '../http/body.ts';
import { ClientDisconnected } from './client-disconnected.ts';

/**
 * Reads the whole body of a request, so that no service is occupied while the body arrives. Must be called before any
 * other code reads the body.
 * Throws PAYLOAD_TOO_LARGE as soon as a chunked body exceeds the limit, REQUEST_TIMEOUT if the client sends nothing for
 * `pauseMs` or has not sent everything after `totalMs`, and ClientDisconnected. What the client sends after an error is read and
 * dropped.
 */
export async function receiveBody(
  request: IncomingMessage,
  response: ServerResponse,
  time: { pauseMs: number } | { totalMs: number },
): Promise<Buffer> {
  // The response's 'close' event was emitted before a listener could be added.
  if (response.destroyed) throw new ClientDisconnected();
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const isTotal = 'totalMs' in time;
  const timeout = setTimeout(() => reject(new ApiError('REQUEST_TIMEOUT')), isTotal ? time.totalMs : time.pauseMs);
  const body = new GrowingBuffer();
  const append = (chunk: Buffer) => {
    if (!isTotal) timeout.refresh();
    if (body.length + chunk.length > BODY_LIMIT) reject(new ApiError('PAYLOAD_TOO_LARGE'));
    else body.append(chunk);
  };
  const end = () => resolve(body.bytes);
  const disconnected = () => reject(new ClientDisconnected());
  request.on('data', append).on('end', end);
  response.on('close', disconnected);
  try {
    return await promise;
  } finally {
    clearTimeout(timeout);
    request.off('data', append).off('end', end).resume();
    response.off('close', disconnected);
  }
}

/** Joins the chunks of a body, which can arrive in thousands of chunks that each belong to a larger buffer. */
class GrowingBuffer {
  length = 0;
  #buffer: Buffer = Buffer.alloc(0);

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  append(chunk: Buffer): void {
    const length = this.length + chunk.length;
    // Most request bodies arrive in one chunk, which is not copied.
    if (this.length === 0) this.#buffer = chunk;
    else {
      if (length > this.#buffer.length) this.#grow(Math.min(2 * length, BODY_LIMIT));
      chunk.copy(this.#buffer, this.length);
    }
    this.length = length;
  }

  #grow(capacity: number): void {
    const larger = Buffer.allocUnsafe(capacity);
    this.#buffer.copy(larger, 0, 0, this.length);
    this.#buffer = larger;
  }
}
