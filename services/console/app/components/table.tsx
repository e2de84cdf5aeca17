import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Pages } from '../api/use-pages.ts';
import { stateTexts as texts } from '../texts.ts';
import { Button } from './button.tsx';
import { ErrorNote, Skeleton } from './states.tsx';

export interface Column<Row> {
  name: string;
  /** The heading; on a phone it is written before the value, unless the column is the `title` of the row. */
  heading: string;
  cell: (row: Row) => ComponentChildren;
  /** CSS width on wide windows; columns without one share the rest. */
  width?: string;
  /** `title`: the main column, which is the heading of the row on a phone. `actions`: buttons, without a heading. */
  kind?: 'title' | 'actions' | 'number';
}

export interface TableProps<Row> {
  /** Says what the table lists, for people who do not see the page. */
  label: string;
  columns: readonly Column<Row>[];
  list: Pages<Row>;
  rowKey: (row: Row) => string | number;
  /** Shown if the list has no rows. */
  empty: ComponentChildren;
}

/** How far from the visible part rows are rendered, and the next page is loaded. */
const MARGIN = '1200px 0px';

/**
 * A list that loads its next page when the person comes near its end. Pages that are far away are replaced by an empty
 * row of their height, so that the document stays small however long the list is.
 */
export function Table<Row>({ label, columns, list, rowKey, empty }: TableProps<Row>) {
  const { pages, error, isLoading, hasMore, loadMore, reload } = list;
  if (!pages) return error ? <ErrorNote error={error} onRetry={reload} /> : <Skeleton rows={5} />;
  const isEmpty = !hasMore && pages.every((page) => page.length === 0);
  if (isEmpty) return <div class={isLoading ? 'is-reloading' : ''}>{empty}</div>;
  return (
    <div class={isLoading && pages.length <= 1 ? 'table-frame is-reloading' : 'table-frame'}>
      <table class="table" role="table" aria-label={label} aria-busy={isLoading}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, heading, width, kind }) => (
              <th key={name} role="columnheader" scope="col" class={`cell-${kind ?? 'plain'}`} style={{ width }}>
                {kind === 'actions' ? <span class="visually-hidden">{heading}</span> : heading}
              </th>
            ))}
          </tr>
        </thead>
        {pages.map((page, index) => (
          <TablePage key={index} rows={page} columns={columns} rowKey={rowKey} />
        ))}
      </table>
      {error && <ErrorNote error={error} onRetry={loadMore} />}
      {hasMore && !error && <NextPage isLoading={isLoading} loadMore={loadMore} />}
    </div>
  );
}

function TablePage<Row>(props: { rows: readonly Row[] } & Pick<TableProps<Row>, 'columns' | 'rowKey'>) {
  const { rows, columns, rowKey } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const [hiddenHeight, setHiddenHeight] = useState<number>();
  useEffect(() => {
    const element = body.current;
    if (!element) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        const isNear = entry?.isIntersecting ?? true;
        setHiddenHeight(isNear ? undefined : element.getBoundingClientRect().height);
      },
      { rootMargin: MARGIN },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <tbody ref={body} role="rowgroup">
      {hiddenHeight === undefined ? (
        rows.map((row) => <TableRow key={rowKey(row)} row={row} columns={columns} />)
      ) : (
        <tr aria-hidden="true" class="hidden-page">
          <td colSpan={columns.length} style={{ height: `${hiddenHeight}px` }} />
        </tr>
      )}
    </tbody>
  );
}

function TableRow<Row>({ row, columns }: { row: Row; columns: readonly Column<Row>[] }) {
  return (
    <tr role="row">
      {columns.map(({ name, heading, cell, kind }) => (
        <td key={name} role="cell" class={`cell-${kind ?? 'plain'}`} data-heading={heading}>
          {cell(row)}
        </td>
      ))}
    </tr>
  );
}

/** Loads the next page when it comes near the visible part; the button is for those who do not scroll. */
function NextPage({ isLoading, loadMore }: { isLoading: boolean; loadMore: () => void }) {
  const element = useRef<HTMLDivElement>(null);
  const load = useRef(loadMore);
  load.current = loadMore;
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && load.current(), {
      rootMargin: MARGIN,
    });
    // Observed again after each page, because a page may be too short to move the end out of the margin.
    if (element.current && !isLoading) observer.observe(element.current);
    return () => observer.disconnect();
  }, [isLoading]);
  return (
    <div class="next-page" ref={element}>
      <Button kind="quiet" isBusy={isLoading} onClick={loadMore}>
        {texts.more}
      </Button>
    </div>
  );
}
