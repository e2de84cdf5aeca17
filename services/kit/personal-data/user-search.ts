import type { AccountKind, UserColumn } from './erasure-rules.ts';

/** A user, by one account or both. */
export type Accounts = Partial<Record<AccountKind, string>>;

/** A column, and the user whom it is to be searched for. */
export interface Search {
  user: UserColumn;
  id: string;
}

export const namedBy = (user: UserColumn, id: string | undefined): Search[] => (id === undefined ? [] : [{ user, id }]);

/** The condition of a search, with the text of the user's parameter and that of the guild in place of `$1`. */
export function conditionOf(
  { user: { column, matches = `${column} = $user` } }: Search,
  parameter: string,
  guild = '$1',
) {
  return `(${matches.replaceAll('$1', guild).replaceAll('$user', parameter)})`;
}
