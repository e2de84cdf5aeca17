import type { ServerResponse } from 'node:http';
import { FRAME_END, retrySoon } from '#kit/http/event-stream.ts';
import type { Caller } from '#proto/gen/guild/auth/v1/console.ts';

/**
 * Why the stream of a viewer ended: the browser disconnected (`browser`) or reads too slowly (`slow`), the session ended or
 * the person lost all roles in the guild (`session`), the role changed (`role`), auth did not confirm the session for too
 * long (`unverified`), or this console drains (`drain`).
 */
export const STREAM_ENDS = ['browser', 'slow', 'session', 'role', 'unverified', 'drain'] as const;
export type StreamEnd = (typeof STREAM_ENDS)[number];

/** The ends after which the browser connects again soon. */
const WITH_RETRY: readonly StreamEnd[] = ['role', 'unverified', 'drain'];

/** The maximum number of bytes that wait for a browser which reads slowly. */
const MAX_WAITING_BYTES = 256 * 1024;
/** How long the rest of an ended stream may wait for its browser. */
const FLUSH_MS = 1_000;

/** Events were missed: the app should read what it shows again. Without data, so that other readers ignore it. */
export const RELOAD = `event: reload${FRAME_END}`;
const COMMENT = `:${FRAME_END}`;

export interface ViewerOptions {
  caller: Caller;
  guildId: string;
  role: string;
  response: ServerResponse;
  ended: (viewer: Viewer, end: StreamEnd) => void;
}

/** One browser that reads the events of a guild. */
export class Viewer {
  readonly caller: Caller;
  readonly guildId: string;
  readonly role: string;
  readonly #response: ServerResponse;
  readonly #ended: ViewerOptions['ended'];
  #hasEnded = false;

  constructor({ caller, guildId, role, response, ended }: ViewerOptions) {
    this.caller = caller;
    this.guildId = guildId;
    this.role = role;
    this.#response = response;
    this.#ended = ended;
    response.once('close', () => this.end('browser'));
  }

  write(bytes: Buffer | string): void {
    if (this.#hasEnded) return;
    this.#response.write(bytes);
    if (this.#response.writableLength > MAX_WAITING_BYTES) this.end('slow');
  }

  comment(): void {
    this.write(COMMENT);
  }

  /** Ends the stream; further calls do nothing. */
  end(end: StreamEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const response = this.#response;
    if (end === 'slow') response.destroy();
    else if (end !== 'browser') {
      response.end(WITH_RETRY.includes(end) ? retrySoon() : '');
      setTimeout(() => {
        if (!response.writableFinished) response.destroy();
      }, FLUSH_MS).unref();
    }
    this.#ended(this, end);
  }
}
