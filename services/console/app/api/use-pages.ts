import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from './errors.ts';
import { isAbort } from './errors.ts';
import { asApiError } from './use-data.ts';

/** One page of a list, as routes with a cursor return it. */
export interface Page<Row> {
  rows: Row[];
  next: string | null;
}

export interface Pages<Row> {
  /** The pages that were loaded; undefined until the first one is there. */
  pages: readonly (readonly Row[])[] | undefined;
  error: ApiError | undefined;
  isLoading: boolean;
  hasMore: boolean;
  loadMore: () => void;
  reload: () => void;
  /** Changes or removes (undefined) rows that are loaded, after an action on one of them. */
  update: (change: (row: Row) => Row | undefined) => void;
}

interface State<Row> {
  pages?: readonly (readonly Row[])[];
  next: string | null;
  error?: ApiError;
  isLoading: boolean;
}

/** Loads a list page by page, from the start again when one of `inputs` changes. */
export function usePages<Row>(
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>,
  inputs: readonly unknown[],
): Pages<Row> {
  const [state, setState] = useState<State<Row>>({ next: null, isLoading: true });
  const [version, setVersion] = useState(0);
  const current = useRef({ load, controller: new AbortController(), isBusy: false });
  current.current.load = load;

  const fetchPage = useCallback(async (cursor: string | undefined, earlier: readonly (readonly Row[])[]) => {
    const { controller } = current.current;
    const isLeft = () => controller.signal.aborted;
    current.current.isBusy = true;
    setState((now) => ({ ...now, isLoading: true }));
    try {
      const { rows, next } = await current.current.load(cursor, controller.signal);
      if (!isLeft()) setState({ pages: [...earlier, rows], next, isLoading: false });
    } catch (error) {
      if (!isAbort(error) && !isLeft()) setState((now) => ({ ...now, error: asApiError(error), isLoading: false }));
    } finally {
      if (!isLeft()) current.current.isBusy = false;
    }
  }, []);

  useEffect(() => {
    const controller = new AbortController();
    current.current.controller = controller;
    void fetchPage(undefined, []);
    return () => controller.abort();
  }, [...inputs, version]);

  const loadMore = useCallback(() => {
    if (state.next !== null && !current.current.isBusy) void fetchPage(state.next, state.pages ?? []);
  }, [state]);
  const reload = useCallback(() => setVersion((number) => number + 1), []);
  const update = useCallback((change: (row: Row) => Row | undefined) => {
    const changed = (row: Row) => change(row) ?? [];
    setState((now) => (now.pages ? { ...now, pages: now.pages.map((page) => page.flatMap(changed) as Row[]) } : now));
  }, []);
  const { pages, error, isLoading, next } = state;
  return { pages, error, isLoading, hasMore: next !== null, loadMore, reload, update };
}
