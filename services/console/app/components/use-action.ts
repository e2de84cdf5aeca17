import { useCallback, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/errors.ts';
import { asApiError } from '../api/use-data.ts';

export interface Action<Args extends unknown[]> {
  run: (...args: Args) => Promise<void>;
  isBusy: boolean;
  /** The error of the last run; undefined while it runs and after a success. */
  error: ApiError | undefined;
}

/** Runs something that a person starts, once at a time, and holds its error for the form that shows it. */
export function useAction<Args extends unknown[]>(work: (...args: Args) => Promise<unknown>): Action<Args> {
  const [state, setState] = useState<{ isBusy: boolean; error?: ApiError }>({ isBusy: false });
  const current = useRef({ work, isBusy: false });
  current.current.work = work;
  const run = useCallback(async (...args: Args) => {
    if (current.current.isBusy) return;
    current.current.isBusy = true;
    setState({ isBusy: true });
    try {
      await current.current.work(...args);
      setState({ isBusy: false });
    } catch (error) {
      setState({ isBusy: false, error: asApiError(error) });
    } finally {
      current.current.isBusy = false;
    }
  }, []);
  return { run, isBusy: state.isBusy, error: state.error };
}
