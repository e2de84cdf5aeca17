import type { Input, StreamedOutput, Write } from './command.ts';
import { Table } from './text.ts';

/** The maximum number of items in a page; DEFAULT_PAGE is the number without `--limit`. */
const MAX_PAGE = 1_000;
const DEFAULT_PAGE = 100;

/** The command-line options of every list, for `Command.options`. */
export const PAGE_OPTIONS = {
  limit: { type: 'string' },
  cursor: { type: 'string' },
  all: { type: 'boolean' },
} as const;

/** The help texts for PAGE_OPTIONS: the usage for `Command.usage`, and the notes for `Command.notes`. */
export const PAGE_USAGE = '[--limit N | --all] [--cursor CURSOR]';
export const PAGE_NOTES: readonly string[] = [
  `--limit N        the size of the page: 1 to ${MAX_PAGE}; ${DEFAULT_PAGE} by default`,
  '--cursor CURSOR  continue after an earlier page, with its next_cursor',
  '--all            print all pages, each as soon as it arrives',
];

export interface PageRequest {
  /** The maximum number of items in the page: 1 to 1000. */
  limit: number;
  /** The cursor of the page; empty for the first page. */
  cursor: string;
}

export interface Page<Item> {
  items: readonly Item[];
  /** The cursor of the next page; empty or undefined on the last page. */
  nextCursor: string | undefined;
}

export interface ListOptions<Item> {
  /** The name of the array in the JSON document, such as `keys`. */
  field: string;
  /** Fields of the JSON document before the array. */
  head?: Readonly<Record<string, unknown>>;
  /** The text that is printed if the list is empty. */
  none: string;
  headings: readonly string[];
  cells(item: Item): readonly string[];
  /** Returns a list item as it appears in the JSON document. */
  document(item: Item): unknown;
  /** Requests one page of the list from the service. */
  page(request: PageRequest): Promise<Page<Item>>;
}

/** Reads `--limit`, `--cursor` and `--all`. Call this function before `input.check()`. */
export function readPageOptions(input: Input): { first: PageRequest; isAll: boolean } {
  input.forbidBoth('limit', 'all');
  const isAll = input.flag('all');
  const limit = input.wholeNumber('limit', { min: 1, max: MAX_PAGE }) ?? (isAll ? MAX_PAGE : DEFAULT_PAGE);
  return { first: { limit, cursor: input.text('cursor') ?? '' }, isAll };
}

/**
 * Returns the output of a list: one page, or all pages with `--all`. Pages are written as they arrive, so that memory
 * does not grow with the list. With `--json` the output is one document, `{<field>: […], next_cursor}`. If a later page
 * fails, the document stays incomplete, so that no program accepts a part as the whole list.
 */
export function listOutput<Item>(
  { first, isAll }: { first: PageRequest; isAll: boolean },
  options: ListOptions<Item>,
): StreamedOutput {
  return {
    write: (write, isJson) => {
      const pages = pagesOf(options, first, isAll);
      return isJson ? writeJson(write, pages, options) : writeText(write, pages, options);
    },
  };
}

/**
 * Yields the first page of a list, or all its pages. Throws if a service repeats a cursor, because the list would never
 * end.
 */
export async function* pagesOf<Item>(
  { page }: Pick<ListOptions<Item>, 'page'>,
  first: PageRequest,
  isAll: boolean,
): AsyncGenerator<Page<Item>, void> {
  for (let request = first; ; ) {
    const found = await page(request);
    yield found;
    const cursor = found.nextCursor || '';
    if (!isAll || cursor === '') return;
    if (cursor === request.cursor) throw new Error('the service returned the same page twice');
    request = { ...request, cursor };
  }
}

async function writeJson<Item>(write: Write, pages: AsyncIterable<Page<Item>>, options: ListOptions<Item>) {
  // The opening of the document is written together with the first page, so that nothing is printed if the first page
  // fails.
  let opening = openingOf(options);
  let separator = '';
  let next: string | undefined;
  for await (const { items, nextCursor } of pages) {
    const text = items.map((item) => JSON.stringify(options.document(item))).join(',');
    await write(`${opening}${text && separator}${text}`);
    opening = '';
    if (text) separator = ',';
    next = nextCursor;
  }
  await write(`],"next_cursor":${JSON.stringify(next || null)}}\n`);
}

/** Returns the JSON document of a list up to its first item. */
function openingOf({ head = {}, field }: Pick<ListOptions<unknown>, 'head' | 'field'>): string {
  const fields = Object.entries(head).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`);
  return `{${fields.join('')}${JSON.stringify(field)}:[`;
}

async function writeText<Item>(write: Write, pages: AsyncIterable<Page<Item>>, options: ListOptions<Item>) {
  const table = new Table(options.headings);
  let next: string | undefined;
  for await (const { items, nextCursor } of pages) {
    if (items.length > 0) await write(`${table.rows(items.map((item) => options.cells(item)))}\n`);
    next = nextCursor;
  }
  if (table.isEmpty && !next) await write(`${options.none}\n`);
  if (next) await write(`\nThere is more: --cursor ${next}\n`);
}
