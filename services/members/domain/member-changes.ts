import type { Transaction } from '#kit/postgres/pool.ts';

/** A change of a member of a guild that the chat platform reported, by whomever it was made. */
export interface MemberChange {
  guildId: string;
  chatId: string;
  /** `joined` may also be reported for somebody who is a member already. */
  kind: 'joined' | 'left' | 'changed';
  /** The IDs of the member's roles. `before` is undefined if they were not known; `after` is empty for `left`. */
  roles: { before: readonly string[] | undefined; after: readonly string[] };
  /** Until when the member is timed out. `before` is also null if it was not known. */
  timeoutUntil: { before: Date | null; after: Date | null };
}

/**
 * Stores what follows from a change of a member, in the transaction that also stores the change itself and the position
 * in the stream of the chat platform. So nothing is lost, and nothing is stored twice. It must be quick and must not call
 * other systems.
 */
export type OnMemberChange = (transaction: Transaction, change: MemberChange) => Promise<void>;
