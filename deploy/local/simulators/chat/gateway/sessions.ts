import type { Clock } from '../../limits.ts';
import type { GuildEvent } from '../events.ts';
import { Session, type Shard } from './session.ts';

const MAX_SESSIONS = 1000;
/** How long a session without a connection can be resumed; the platform does not publish it. */
const RESUME_MS = 180_000;

/** The sessions of all clients, with and without a connection. */
export class Sessions {
  readonly #clock: Clock;
  readonly #sessions = new Map<string, Session>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  create(shard: Shard, intents: number): Session {
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size >= MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
    const session = new Session(shard, intents);
    this.#sessions.set(session.id, session);
    return session;
  }

  /** A session that can be resumed. */
  find(id: string): Session | undefined {
    const found = this.#sessions.get(id);
    if (found?.detachedAt === undefined || this.#clock() < found.detachedAt + RESUME_MS) return found;
    this.#sessions.delete(id);
    return undefined;
  }

  /** Remembers that a session lost its connection. Events are kept for it. */
  detach(session: Session): void {
    session.receiver = undefined;
    session.detachedAt = this.#clock();
  }

  forget(session: Session): void {
    this.#sessions.delete(session.id);
  }

  report(event: GuildEvent): void {
    for (const session of this.#sessions.values()) session.report(event);
  }

  list(): Session[] {
    return [...this.#sessions.values()];
  }
}
