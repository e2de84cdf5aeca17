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
 * Stores what follows from changes of members, in the transaction that also stores the changes themselves and the position
 * in the stream of the chat platform. So nothing is lost, and nothing is stored twice. It must be quick and must not call
 * other systems. It gets all changes of the transaction at once, in their order, so that it can lock rows in the order in
 * which other transactions do.
 */
export type OnMemberChanges = (transaction: Transaction, changes: readonly MemberChange[]) => Promise<void>;

/** Returns the changes of each guild, in the order of the guilds' IDs. */
export function changesByGuild(changes: readonly MemberChange[]): [string, MemberChange[]][] {
  return [...Map.groupBy(changes, ({ guildId }) => guildId)].toSorted(([one], [other]) => (one < other ? -1 : 1));
}
