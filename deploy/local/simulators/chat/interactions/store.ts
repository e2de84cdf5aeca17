import { randomBytes } from 'node:crypto';
import type { Clock } from '../../limits.ts';

const MAX_INTERACTIONS = 1000;
const TOKEN_MS = 15 * 60_000;

/** The signed request of an interaction, to be sent again unchanged. */
export type SignedRequest = { url: string; headers: Record<string, string>; body: string };

export type Interaction = {
  id: string;
  token: string;
  created_at: number;
  request: SignedRequest;
  /** What the application responded to the latest request; null without a response. */
  status: number | null;
  response: unknown;
  /** The message that the user sees; null until the application has responded. */
  message: Record<string, unknown> | null;
  edits: number;
};

/** The latest interactions with what the application responded, and the messages that it wrote later. */
export class Interactions {
  readonly #clock: Clock;
  readonly #interactions = new Map<string, Interaction>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A token that only the application learns; with it the application edits its response. */
  newToken(): string {
    return randomBytes(48).toString('base64url');
  }

  add(id: string, token: string, request: SignedRequest): Interaction {
    const created_at = this.#clock();
    const added = { id, token, created_at, request, status: null, response: null, message: null, edits: 0 };
    const [oldest] = this.#interactions.keys();
    if (this.#interactions.size >= MAX_INTERACTIONS && oldest !== undefined) this.#interactions.delete(oldest);
    // Two interactions may have one ID, if a test sends an ID again; their tokens differ.
    this.#interactions.set(token, added);
    return added;
  }

  /** The latest interaction with an ID. */
  find(id: string): Interaction | undefined {
    return this.list().findLast((interaction) => interaction.id === id);
  }

  /** The interaction of a token, which is valid for 15 minutes. */
  ofToken(token: string): Interaction | undefined {
    const found = this.#interactions.get(token);
    return found && this.#clock() < found.created_at + TOKEN_MS ? found : undefined;
  }

  list(): Interaction[] {
    return [...this.#interactions.values()];
  }

  clear(): void {
    this.#interactions.clear();
  }
}
