import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import type { Request, Response } from 'express';
import { type HeaderList, writeAnswerHead } from '#kit/http/response-headers.ts';

/** In small pieces a client that reads slowly can be told from one that does not read. */
const PIECE_BYTES = 16 * 1024;

/** One encoding of a document, under an ETag of its own. */
interface Representation {
  bytes: Buffer;
  etag: string;
  headers: HeaderList;
}

/** A document that anybody may read and cache for five minutes. It changes only with the version of the gateway. */
export class PublicDocument {
  readonly #identity: Representation;
  readonly #gzip: Representation;

  /** `headers` come with the document itself: its type, and what it needs of a browser. */
  constructor(text: string, headers: Readonly<HeaderList>) {
    const bytes = Buffer.from(text);
    this.#identity = representation(bytes, headers, '');
    this.#gzip = representation(gzipSync(bytes, { level: 9 }), ['content-encoding', 'gzip', ...headers], '-gzip');
  }

  /** 200 in the encoding that the client accepts, or 304 if it has that already. */
  readonly send = (request: Request, response: Response): void => {
    const acceptsGzip = request.acceptsEncodings(['gzip', 'identity']) === 'gzip';
    const { bytes, etag, headers } = acceptsGzip ? this.#gzip : this.#identity;
    // Set where Express looks for it.
    response.setHeader('etag', etag);
    if (request.fresh) {
      writeAnswerHead(response, 304, CACHING);
      response.end();
      return;
    }
    writeAnswerHead(response, 200, headers);
    if (request.method === 'HEAD') response.end();
    // A client that leaves ends it, and needs nothing more.
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
