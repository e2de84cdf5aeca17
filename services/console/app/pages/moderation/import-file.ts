import { flaggedTexts as texts } from '../../texts.ts';
import { isGameId } from '../people/accounts.ts';

/** A player to put on the flagged list. */
export interface ImportRow {
  /** The number of its line in the file, from 1. */
  line: number;
  gameId: string;
  reason: string;
  category: string;
  username: string | null;
}

/** A line that cannot be imported. */
export interface WrongLine {
  line: number;
  text: string;
  fault: string;
}

export interface ImportFile {
  rows: ImportRow[];
  wrong: WrongLine[];
}

/** What lines get that have no reason or category of their own. */
export interface ImportDefaults {
  reason: string;
  category: string;
}

export const MAX_IMPORT_ROWS = 10_000;

const COLUMNS = ['game_id', 'reason', 'category', 'game_username'] as const;
type ColumnName = (typeof COLUMNS)[number];

/** Headings that mean the column of the game ID. */
const ID_HEADINGS = new Set(['game_id', 'gameid', 'id', 'user_id', 'userid', 'player_id']);

/** Reads a CSV file, or one with an ID per line. Lines that are wrong are listed with the reason. */
export function parseImport(content: string, defaults: ImportDefaults): ImportFile {
  const lines = content.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  const separator = separatorOf(lines.find((line) => line.trim() !== '') ?? '');
  const file: ImportFile = { rows: [], wrong: [] };
  const seen = new Set<string>();
  let columns: readonly (ColumnName | undefined)[] = COLUMNS;
  let isFirst = true;
  for (const [index, text] of lines.entries()) {
    if (text.trim() === '') continue;
    const cells = cellsOf(text, separator);
    const headings = isFirst ? headingsOf(cells) : undefined;
    isFirst = false;
    if (headings) {
      columns = headings;
      continue;
    }
    const row = rowOf(index + 1, cells, columns, defaults);
    const fault = file.rows.length >= MAX_IMPORT_ROWS ? texts.faults.tooMany : faultOfRow(row, seen);
    if (fault) file.wrong.push({ line: index + 1, text, fault });
    else {
      seen.add(row.gameId);
      file.rows.push(row);
    }
  }
  return file;
}

const separatorOf = (line: string): string => ['\t', ';', ','].find((character) => line.includes(character)) ?? ',';

/** The columns that a line of headings names; undefined if it is no such line. */
function headingsOf(cells: readonly string[]): (ColumnName | undefined)[] | undefined {
  const names = cells.map((cell) => cell.toLowerCase().replaceAll(/[\s-]+/g, '_'));
  if (!names.some((name) => ID_HEADINGS.has(name))) return undefined;
  return names.map((name) => (ID_HEADINGS.has(name) ? 'game_id' : COLUMNS.find((column) => column === name)));
}

function rowOf(
  line: number,
  cells: readonly string[],
  columns: readonly (ColumnName | undefined)[],
  defaults: ImportDefaults,
): ImportRow {
  const cell = (name: ColumnName) => cells[columns.indexOf(name)]?.trim() ?? '';
  return {
    line,
    gameId: cell('game_id'),
    reason: cell('reason') || defaults.reason.trim(),
    category: cell('category') || defaults.category.trim(),
    username: cell('game_username') || null,
  };
}

const isLength = (text: string, max: number) => text.length >= 1 && text.length <= max;

function faultOfRow({ gameId, reason, category, username }: ImportRow, seen: ReadonlySet<string>) {
  if (!isGameId(gameId)) return texts.faults.id;
  if (seen.has(gameId)) return texts.faults.duplicate;
  if (!isLength(reason, 400)) return texts.faults.reason;
  if (!isLength(category, 50)) return texts.faults.category;
  if (username !== null && !isLength(username, 50)) return texts.faults.name;
  return undefined;
}

/** The cells of a line of CSV. A cell in quotes may hold the separator, and quotes that are written twice. */
function cellsOf(line: string, separator: string): string[] {
  const cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (let index = 0; index < line.length; index++) {
    const character = line[index] ?? '';
    if (isQuoted && character === '"' && line[index + 1] === '"') {
      cell += '"';
      index++;
    } else if (character === '"' && (isQuoted || cell.trim() === '')) {
      isQuoted = !isQuoted;
    } else if (character === separator && !isQuoted) {
      cells.push(cell);
      cell = '';
    } else cell += character;
  }
  return [...cells, cell].map((text) => text.trim());
}
