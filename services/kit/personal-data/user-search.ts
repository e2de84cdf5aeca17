import type { AccountKind, UserColumn } from './erasure-rules.ts';

/** The accounts of a user: one or both. */
export type Accounts = Partial<Record<AccountKind, string>>;

/** A column and the account ID to search it for. */
export interface Search {
  user: UserColumn;
  id: string;
}

export const searchesFor = (user: UserColumn, id: string | undefined): Search[] =>
  id === undefined ? [] : [{ user, id }];

/** The SQL condition of a search, with these placeholders for the user and the guild. */
export function conditionOf(
  { user: { column, matches = `${column} = $user` } }: Search,
  parameter: string,
  guild = '$1',
) {
  return `(${matches.replaceAll('$1', guild).replaceAll('$user', parameter)})`;
}
