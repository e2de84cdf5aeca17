import type { Clock } from '../limits.ts';
import type { Call } from '../routes.ts';
import { decode } from '../routes.ts';
import { refuseField } from './errors.ts';

/** A write that the platform accepted; `changed` is false if nothing had to change. */
export type AuditEntry = {
  at: number;
  method: string;
  path: string;
  guild_id: string;
  user_id: string;
  changes: Record<string, unknown>;
  changed: boolean;
  reason: string | null;
};

const longestReason = 512;
const mostEntries = 10_000;

/** The latest writes, with the reason in each request. */
export class AuditLog {
  readonly #clock: Clock;
  #entries: AuditEntry[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(call: Call, reason: string | null, changes: Record<string, unknown>, changed: boolean): void {
    const { guild = '', user = '' } = call.params;
    const { method, path } = call;
    const at = this.#clock();
    this.#entries.push({ at, method, path, guild_id: guild, user_id: user, changes, changed, reason });
    if (this.#entries.length > mostEntries) this.#entries.shift();
  }

  list(): AuditEntry[] {
    return this.#entries;
  }

  clear(): void {
    this.#entries = [];
  }
}

/** The reason in the request: percent-encoded UTF-8 in a header, at most 512 characters. */
export function readReason(call: Call): string | null {
  const header = call.headers['x-audit-log-reason'];
  if (typeof header !== 'string' || header === '') return null;
  const reason = decode(header);
  if (Array.from(reason).length > longestReason)
    refuseField('reason', 'BASE_TYPE_BAD_LENGTH', `Must be between 1 and ${longestReason} in length.`);
  return reason;
}
