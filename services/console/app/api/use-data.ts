import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, isAbort } from './errors.ts';

export interface Loaded<Data> {
  /** The last data that was loaded; it stays while newer data is loaded. */
  data: Data | undefined;
  error: ApiError | undefined;
  isLoading: boolean;
  /** Loads again, without showing a loading state. */
  reload: () => void;
  /** Replaces the data, for a change whose outcome is known. */
  setData: (change: (data: Data) => Data) => void;
}

/** Loads data when a component appears, and again when one of `inputs` changes. */
export function useData<Data>(load: (signal: AbortSignal) => Promise<Data>, inputs: readonly unknown[]): Loaded<Data> {
  const [state, setState] = useState<{ data?: Data; error?: ApiError; isLoading: boolean }>({ isLoading: true });
  const [version, setVersion] = useState(0);
  const current = useRef(load);
  current.current = load;
  useEffect(() => {
    const controller = new AbortController();
    setState(({ data }) => ({ ...(data !== undefined && { data }), isLoading: true }));
    current
      .current(controller.signal)
      .then((data) => !controller.signal.aborted && setState({ data, isLoading: false }))
      .catch((error: unknown) => {
        if (!isAbort(error) && !controller.signal.aborted) setState({ error: asApiError(error), isLoading: false });
      });
    return () => controller.abort();
  }, [...inputs, version]);
  const reload = useCallback(() => setVersion((number) => number + 1), []);
  const setData = useCallback((change: (data: Data) => Data) => {
    setState((now) => (now.data === undefined ? now : { ...now, data: change(now.data) }));
  }, []);
  return { data: state.data, error: state.error, isLoading: state.isLoading, reload, setData };
}

/** Every error as one that can be shown. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('INTERNAL', { message: error instanceof Error ? error.message : String(error) });
}
