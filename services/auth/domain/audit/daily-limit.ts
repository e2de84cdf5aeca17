import { dailyLimitReached } from '#kit/daily-limit.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { addPersonChange } from '../../store/guilds.ts';
import { actingPerson } from './acting-person.ts';

/** The maximum number of changes of all persons together that auth makes in a guild on a day (UTC). */
export const MAX_PERSON_CHANGES = 2_000;

/**
 * Counts a change that a person makes, in the transaction of the change. Throws CONFLICT if it is the 2,001st of the
 * guild today. Operators are never rejected. Changes that only take access away are not counted: each of them undoes
 * one that was counted, and they must be possible while somebody else fills the count.
 */
export async function countPersonChange(transaction: Queryable, guildId: string, now: Date): Promise<void> {
  if (!actingPerson() || (await addPersonChange(transaction, guildId, now, MAX_PERSON_CHANGES))) return;
  const message = `Persons have made ${MAX_PERSON_CHANGES} changes in the guild today (UTC), which is the maximum`;
  throw dailyLimitReached(message, now.getTime());
}
