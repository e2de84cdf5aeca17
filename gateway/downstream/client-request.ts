import { IncomingMessage } from 'node:http';

const BATCH_BYTES = 16 * 1024;
/**
 * The maximum size, in bytes, of body chunks that are combined into one. Larger chunks are passed on without copying.
 */
const SMALL_BYTES = 256;

/**
 * An HTTP request that combines small chunks of its body. Node's parser calls `push` for each chunk, and a chunk may
 * have one byte: forwarding the 2,600 chunks of a 16 KiB packet one by one would block the process for 20 ms.
 */
export class ClientRequest extends IncomingMessage {
  #batch: Buffer | undefined;
  #length = 0;

  override push(piece: Buffer | null, encoding?: BufferEncoding): boolean {
    if (piece === null) {
      this.#flush();
      return super.push(null);
    }
    if (this.headers['transfer-encoding'] === undefined) return super.push(piece, encoding);
    if (piece.length > SMALL_BYTES || this.#length + piece.length > BATCH_BYTES) this.#flush();
    if (piece.length > SMALL_BYTES) return super.push(piece, encoding);
    if (this.#batch === undefined) {
      this.#batch = Buffer.allocUnsafe(BATCH_BYTES);
      // By the time of setImmediate the parser has read the whole packet. process.nextTick could run after each chunk.
      setImmediate(() => this.#flush());
    }
    this.#length += piece.copy(this.#batch, this.#length);
    return this.readableLength + this.#length < this.readableHighWaterMark;
  }

  #flush(): void {
    const batch = this.#batch?.subarray(0, this.#length);
    this.#batch = undefined;
    this.#length = 0;
    if (batch && !this.destroyed) super.push(batch);
  }
}
