import type { AccountKind, UserColumn } from './erasure-rules.ts';

/** The account IDs of a user: the chat account, the game account or both. */
export type Accounts = Partial<Record<AccountKind, string>>;

/** A search for rows about a user: a table column and the account ID to search it for. */
export interface Search {
  user: UserColumn;
  id: string;
}

export const searchesFor = (user: UserColumn, id: string | undefined): Search[] =>
  id === undefined ? [] : [{ user, id }];

/** Returns the SQL condition of a search for a user, with these SQL parameters for the account ID and the guild ID. */
export function conditionOf(
  { user: { column, matches = `${column} = $user` } }: Search,
  parameter: string,
  guild = '$1',
) {
  return `(${matches.replaceAll('$1', guild).replaceAll('$user', parameter)})`;
}
