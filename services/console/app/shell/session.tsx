import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { type ConsoleData, consoleCall } from '../api/console.ts';
import { ApiError } from '../api/errors.ts';
import { onSignedOut, setCsrfToken } from '../api/http.ts';
import { asApiError } from '../api/use-data.ts';

export type Session = ConsoleData<'getSession'>;

export interface SessionState {
  /** undefined while it is loaded, null if nobody is signed in. */
  session: Session | null | undefined;
  error: ApiError | undefined;
  /** Asks the console again, after signing in or out. */
  reload: () => Promise<void>;
}

const Context = createContext<SessionState>({ session: undefined, error: undefined, reload: async () => undefined });

/** Who is signed in. */
export const useSession = (): SessionState => useContext(Context);

/** Loads the session, and forgets it when a response says that it has ended. */
export function SessionProvider({ children }: { children: ComponentChildren }) {
  const [session, setSession] = useState<Session | null>();
  const [error, setError] = useState<ApiError>();
  const reload = useCallback(async () => {
    setError(undefined);
    try {
      const loaded = await consoleCall('getSession', {});
      setCsrfToken(loaded.csrf_token);
      setSession(loaded);
    } catch (failure) {
      if (failure instanceof ApiError && failure.code === 'NOT_SIGNED_IN') setSession(null);
      else setError(asApiError(failure));
    }
  }, []);
  useEffect(() => {
    onSignedOut(() => setSession(null));
    void reload();
  }, []);
  const value = useMemo(() => ({ session, error, reload }), [session, error]);
  return <Context.Provider value={value}>{children}</Context.Provider>;
}
