import type { RetainedKind } from '#proto/rest/retained-kinds.ts';

export type AccountKind = 'chat' | 'game';

/** A table column that contains the ID of a user's account. */
export interface UserColumn {
  column: string;
  account: AccountKind;
  /** The SQL condition for rows that name the user, written `$user`; by default the column must equal `$user`. */
  matches?: string;
  /**
   * The columns that are overwritten when the user is erased, each with its new value in SQL (`{ moderator_id: 'NULL'
   * }`). If left out, the rows are deleted.
   */
  empty?: Readonly<Record<string, string>>;
  /**
   * SQL for a JSON object: the part of a row that the user's data export shows if the row would not be deleted. It must
   * not name other users. By default it has the columns in `empty`.
   */
  shows?: string;
}

/** Defines how personal data in a table is erased. A contract test checks that every table of a service has a rule. */
export interface ErasureRule {
  /** The name of the table with its schema. The table has a column `guild_id` unless `belongsToInstallation` is set. */
  table: string;
  /** The kind of the table's rows in the usage of a guild; left out if they are kept when the guild is erased. */
  holds?: RetainedKind;
  /** SQL for the number of rows of the guild `$1`, if that is faster than counting them. */
  rowCount?: string;
  /** The SQL condition for rows that are kept when their guild is erased; without it all rows are deleted. */
  keptRows?: string;
  /**
   * The SQL condition for rows whose content a process may be sending to another service. An erasure is not done before
   * they are sent, because that service could store the content after its own erasure.
   */
  sending?: string;
  /** The table's columns that name users; left out if there are none. */
  users?: readonly UserColumn[];
  /** SQL for a JSON object that replaces some columns in data exports, because these columns may name other users. */
  exports?: string;
  /** The SQL functions that erase rows of a table if the service has no right to write to it. */
  functions?: { guild: string; user: string };
  /**
   * True for a small table that Citus copies to each node (deploy/citus/placements.ts). Its rows of a guild or user are
   * erased by one statement, because a batch could contain other rows on each node.
   */
  isCopied?: true;
  /** True if the table belongs to the whole installation: it has no `guild_id` and names no user. */
  belongsToInstallation?: true;
}
