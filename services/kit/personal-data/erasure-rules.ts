export type AccountKind = 'chat' | 'game';

/** A column that names a user. */
export interface UserColumn {
  column: string;
  account: AccountKind;
  /** A condition on rows that name the user, who is `$user`, where it is not the column's value. */
  matches?: string;
  /** By column, what is set in such rows (`{ moderator_id: 'NULL' }`); they no longer match then. Without it they go. */
  empty?: Readonly<Record<string, string>>;
  /**
   * What an export shows of a row that stays, as a JSON object that names nobody else; the columns in `empty` when left
   * out.
   */
  shows?: string;
}

/** What erasing means for a table. Every table of a service has a rule; a test of the contracts sees to it. */
export interface ErasureRule {
  /** With its schema. It has a column `guild_id`, unless it is the installation's. */
  table: string;
  /** A condition on rows that outlive their guild. */
  guildKeeps?: string;
  /** None: the table names no user. */
  users?: readonly UserColumn[];
  /** A JSON object of columns that an export shows in another form, where they may name other people. */
  exports?: string;
  /** SQL functions that erase rows in place of statements, where the service may not write the table itself. */
  functions?: { guild: string; user: string };
  /** The table has no `guild_id`: it is the installation's, and names no user. */
  isInstallations?: true;
}
