import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import type { Request, Response } from 'express';
import { type HeaderList, writeResponseHead } from '#kit/http/response-headers.ts';

/**
 * Documents are sent in pieces of this size, so that a client that reads slowly can be told from one that does not
 * read.
 */
const PIECE_BYTES = 16 * 1024;

/** A document in one content encoding, with the ETag of that encoding. */
interface Representation {
  bytes: Buffer;
  etag: string;
  headers: HeaderList;
}

/**
 * A public document that clients may cache for five minutes. The document changes only with the version of the gateway.
 */
export class PublicDocument {
  readonly #identity: Representation;
  readonly #gzip: Representation;

  /** `headers` are the response headers that are sent with the document, such as its content type. */
  constructor(text: string, headers: Readonly<HeaderList>) {
    const bytes = Buffer.from(text);
    this.#identity = representation(bytes, headers, '');
    this.#gzip = representation(gzipSync(bytes, { level: 9 }), ['content-encoding', 'gzip', ...headers], '-gzip');
  }

  /**
   * Sends the document in an encoding that the client accepts, or 304 if the client already has the current version.
   */
  readonly send = (request: Request, response: Response): void => {
    const acceptsGzip = request.acceptsEncodings(['gzip', 'identity']) === 'gzip';
    const { bytes, etag, headers } = acceptsGzip ? this.#gzip : this.#identity;
    // The ETag must be set first: `request.fresh` compares the ETag of the response with If-None-Match.
    response.setHeader('etag', etag);
    if (request.fresh) {
      writeResponseHead(response, 304, CACHING);
      response.end();
      return;
    }
    writeResponseHead(response, 200, headers);
    if (request.method === 'HEAD') response.end();
    // The pipeline fails if the client disconnects, and that needs no handling.
    else pipeline(piecesOf(bytes), response).catch(() => undefined);
  };
}

const CACHING: HeaderList = [
  ['cache-control', 'public, max-age=300'],
  ['vary', 'Accept-Encoding'],
  ['x-content-type-options', 'nosniff'],
].flat();

function representation(bytes: Buffer, headers: Readonly<HeaderList>, suffix: string): Representation {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  const all = ['content-length', bytes.length, ...headers, ...CACHING];
  return { bytes, etag: `"${hash}${suffix}"`, headers: all };
}

function piecesOf(bytes: Buffer): Readable {
  const count = Math.ceil(bytes.length / PIECE_BYTES);
  return Readable.from(Array.from({ length: count }, (_, n) => bytes.subarray(n * PIECE_BYTES, (n + 1) * PIECE_BYTES)));
}
