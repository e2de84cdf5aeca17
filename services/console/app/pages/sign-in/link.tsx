import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { consoleCall } from '../../api/console.ts';
import { Button } from '../../components/button.tsx';
import { Card, ErrorNote, Note } from '../../components/states.tsx';
import { useAction } from '../../components/use-action.ts';
import { PlainLayout } from '../../shell/layout.tsx';
import { Page } from '../../shell/page.tsx';
import { safePath } from '../../shell/return-to.ts';
import { useSession } from '../../shell/session.tsx';
import { signInTexts as texts } from '../../texts.ts';

/**
 * Signs in with a one-time link. Its code is in the fragment, which no server and no log receives, and it is only used when
 * the person presses the button: a program that previews links does not use it up.
 */
export function LinkPage() {
  const [token] = useState(() => location.hash.slice(1));
  const { route } = useLocation();
  const { reload } = useSession();
  const use = useAction(async () => {
    const { return_to } = await consoleCall('useLink', { body: { token } });
    await reload();
    route(safePath(return_to), true);
  });
  return (
    <PlainLayout>
      <Page title={texts.linkTitle} description={texts.linkHint}>
        {use.error &&
          (use.error.status === 404 ? <Note kind="bad">{texts.linkUsed}</Note> : <ErrorNote error={use.error} />)}
        <Card>
          {token === '' ? (
            <p>{texts.linkMissing}</p>
          ) : (
            <div class="stack">
              <Button kind="primary" isBusy={use.isBusy} onClick={() => void use.run()}>
                {texts.linkAction}
              </Button>
            </div>
          )}
          <p>
            <a href="/sign-in">{texts.otherWay}</a>
          </p>
        </Card>
      </Page>
    </PlainLayout>
  );
}
