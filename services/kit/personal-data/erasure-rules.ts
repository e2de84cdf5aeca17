export type AccountKind = 'chat' | 'game';

/** A column that contains a user's account. */
export interface UserColumn {
  column: string;
  account: AccountKind;
  /** A condition for rows that name the user `$user`; by default the column equals `$user`. */
  matches?: string;
  /**
   * SQL values that are set in these rows, by column (`{ moderator_id: 'NULL' }`). If left out, the rows are deleted.
   */
  empty?: Readonly<Record<string, string>>;
  /**
   * SQL for the JSON object that an export shows of a row that is not deleted. It must not name other users. By default
   * it has the columns in `empty`.
   */
  shows?: string;
}

/** How personal data in a table is erased. A contract test checks that every table of a service has a rule. */
export interface ErasureRule {
  /** The table with its schema. It has a column `guild_id` unless `belongsToInstallation` is set. */
  table: string;
  /** A condition for rows that are kept when their guild is erased. */
  keptRows?: string;
  /** The columns that name users; left out if there are none. */
  users?: readonly UserColumn[];
  /** SQL for a JSON object of columns that an export shows in another form, because they may name other users. */
  exports?: string;
  /** SQL functions that erase the rows, if the service has no right to write to the table. */
  functions?: { guild: string; user: string };
  /** The table belongs to the whole installation: it has no `guild_id` and names no user. */
  belongsToInstallation?: true;
}
