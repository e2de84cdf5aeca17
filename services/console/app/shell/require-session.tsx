import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { ErrorNote, Skeleton } from '../components/states.tsx';
import { PlainLayout } from './layout.tsx';
import { useSession } from './session.tsx';

/** Shows its content to persons who are signed in; others are sent to sign in, and come back afterwards. */
export function RequireSession({ children }: { children: ComponentChildren }) {
  const { session, error, reload } = useSession();
  const { url, route } = useLocation();
  useEffect(() => {
    if (session === null) route(`/sign-in?return_to=${encodeURIComponent(url)}`, true);
  }, [session]);
  if (session) return <>{children}</>;
  return (
    <PlainLayout>
      <div class="page">
        {error ? <ErrorNote error={error} onRetry={() => void reload()} /> : <Skeleton rows={6} />}
      </div>
    </PlainLayout>
  );
}
