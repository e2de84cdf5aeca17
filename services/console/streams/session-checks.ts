import { performance } from 'node:perf_hooks';
import { ApiError } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Caller } from '#proto/gen/guild/auth/v1/console.ts';
import type { AuthClient } from '../http/sign-in.ts';
import type { Viewer } from './viewer.ts';

const CHECK_EVERY_MS = 1_000;
/** The maximum number of sessions in one call. */
const MAX_BATCH = 1_000;
/** How long auth may be unavailable before all streams end. */
const UNVERIFIED_MS = 60_000;

export interface SessionChecksOptions {
  auth: AuthClient;
  log: Logger;
  viewers: () => Iterable<Viewer>;
}

/** Ends the streams of sessions that have ended, and of persons who have lost their role in the guild. */
export class SessionChecks {
  readonly #options: SessionChecksOptions;
  #timer: NodeJS.Timeout | undefined;
  #checkedAt = performance.now();
  #isChecking = false;

  constructor(options: SessionChecksOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#check(), CHECK_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Returns the role of a session's person in a guild. Throws NOT_SIGNED_IN or ROLE_TOO_LOW. */
  async roleOf(caller: Caller, guildId: string): Promise<string> {
    const { auth } = this.#options;
    const { roles } = await auth.checkSessions({ sessions: [{ sessionToken: caller.sessionToken, guildId }] });
    const [role = ''] = roles;
    if (role !== '') return role;
    // Throws if the session is unknown.
    await auth.getSession({ caller });
    throw new ApiError('ROLE_TOO_LOW');
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const viewers = [...this.#options.viewers()];
      for (let first = 0; first < viewers.length; first += MAX_BATCH) {
        await this.#checkBatch(viewers.slice(first, first + MAX_BATCH));
      }
      this.#checkedAt = performance.now();
    } catch (error) {
      this.#options.log.warn({ err: error }, 'sessions of event streams could not be checked, will retry');
      if (performance.now() - this.#checkedAt < UNVERIFIED_MS) return;
      for (const viewer of this.#options.viewers()) viewer.end('unverified');
    } finally {
      this.#isChecking = false;
    }
  }

  async #checkBatch(viewers: readonly Viewer[]): Promise<void> {
    const sessions = viewers.map(({ caller, guildId }) => ({ sessionToken: caller.sessionToken, guildId }));
    const { roles } = await this.#options.auth.checkSessions({ sessions });
    for (const [index, viewer] of viewers.entries()) {
      const role = roles[index] ?? '';
      if (role === '') viewer.end('session');
      else if (role !== viewer.role) viewer.end('role');
    }
  }
}
