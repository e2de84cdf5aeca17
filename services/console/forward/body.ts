import type { IncomingMessage } from 'node:http';
import { ApiError } from '#kit/errors.ts';
import { BODY_LIMIT } from '#kit/http/body.ts';
import { CallerLeft } from '#kit/http/upstream.ts';

/**
 * Reads the whole body of a request, so that it is forwarded with a length that the console has counted. Throws
 * PAYLOAD_TOO_LARGE.
 */
export function receiveBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // The browser may have left while auth signed the request: a destroyed request emits no further event.
    if (request.destroyed) return reject(new CallerLeft());
    const pieces: Buffer[] = [];
    let length = 0;
    request.on('data', (piece: Buffer) => {
      length += piece.length;
      if (length <= BODY_LIMIT) pieces.push(piece);
      else reject(new ApiError('PAYLOAD_TOO_LARGE'));
    });
    request.once('end', () => resolve(Buffer.concat(pieces)));
    request.once('close', () => reject(new CallerLeft()));
    request.once('error', () => reject(new CallerLeft()));
  });
}
