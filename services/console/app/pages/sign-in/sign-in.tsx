import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { consoleCall } from '../../api/console.ts';
import { useData } from '../../api/use-data.ts';
import { ButtonLink } from '../../components/button.tsx';
import { Card, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { CONSOLE_PREFIX } from '../../constants.ts';
import { PlainLayout } from '../../shell/layout.tsx';
import { Page } from '../../shell/page.tsx';
import { safePath } from '../../shell/return-to.ts';
import { useSession } from '../../shell/session.tsx';
import { signInTexts as texts } from '../../texts.ts';

/** The ways to sign in. Providers send the browser back here with an error if it fails. */
export function SignInPage() {
  const { query, route } = useLocation();
  const { session } = useSession();
  const returnTo = safePath(query['return_to']);
  const providers = useData((signal) => consoleCall('listProviders', {}, signal), []);
  useEffect(() => {
    if (session) route(returnTo, true);
  }, [session]);
  const error = query['error'];
  const search = new URLSearchParams({ return_to: returnTo }).toString();
  return (
    <PlainLayout>
      <Page title={texts.title} description={texts.description}>
        {error && <Note kind="bad">{texts.errors[error as keyof typeof texts.errors] ?? texts.otherError}</Note>}
        {providers.error && <ErrorNote error={providers.error} onRetry={providers.reload} />}
        <Card>
          {!providers.data && !providers.error && <Skeleton rows={1} />}
          {providers.data?.providers.length === 0 && <p>{texts.nothing}</p>}
          <div class="stack">
            {providers.data?.providers.map(({ name, label }, index) => (
              <ButtonLink
                key={name}
                kind={index === 0 ? 'primary' : 'plain'}
                href={`${CONSOLE_PREFIX}/sign-in/${name}?${search}`}
              >
                {texts.with(label)}
              </ButtonLink>
            ))}
          </div>
        </Card>
      </Page>
    </PlainLayout>
  );
}
