import { type ConsoleData, consoleCall } from '../../api/console.ts';
import { useData } from '../../api/use-data.ts';
import { Button } from '../../components/button.tsx';
import { useConfirm } from '../../components/confirm.tsx';
import { Badge, Card, ErrorNote, Skeleton } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useToasts } from '../../components/toast.tsx';
import { PlainLayout } from '../../shell/layout.tsx';
import { Page } from '../../shell/page.tsx';
import { RequireSession } from '../../shell/require-session.tsx';
import { useSession } from '../../shell/session.tsx';
import { accountTexts as texts } from '../../texts.ts';
import { browserName } from './browser-name.ts';

type SessionRow = ConsoleData<'listSessions'>['sessions'][number];

/** The browsers in which the person is signed in. */
export const AccountPage = () => (
  <RequireSession>
    <Account />
  </RequireSession>
);

function Account() {
  const { session, reload } = useSession();
  const confirm = useConfirm();
  const toasts = useToasts();
  const list = useData((signal) => consoleCall('listSessions', {}, signal), []);
  const act = async (work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      toasts.failed(error);
    }
  };
  const end = (sessionId: string) =>
    act(async () => {
      await consoleCall('endSession', { params: { sessionId } });
      list.reload();
      toasts.done(texts.ended);
    });
  const signOut = () =>
    act(async () => {
      await consoleCall('signOut', {});
      await reload();
    });
  const signOutEverywhere = async () => {
    const question = {
      title: texts.everywhereTitle,
      consequence: texts.everywhereConsequence,
      action: texts.everywhere,
    };
    if (!(await confirm(question))) return;
    await act(async () => {
      await consoleCall('signOutEverywhere', {});
      await reload();
    });
  };
  return (
    <PlainLayout>
      <Page
        title={session?.person.name ?? texts.title}
        description={texts.description}
        actions={
          <>
            <Button onClick={() => void signOutEverywhere()}>{texts.everywhere}</Button>
            <Button kind="primary" onClick={() => void signOut()}>
              {texts.signOut}
            </Button>
          </>
        }
      >
        {list.error && <ErrorNote error={list.error} onRetry={list.reload} />}
        <Card isFlush>
          {!list.data && !list.error && <Skeleton rows={2} />}
          <ul class="rows">
            {list.data?.sessions.map((row) => (
              <SessionItem key={row.id} row={row} onEnd={() => void end(row.id)} />
            ))}
          </ul>
        </Card>
      </Page>
    </PlainLayout>
  );
}

function SessionItem({ row, onEnd }: { row: SessionRow; onEnd: () => void }) {
  const provider = texts.providers[row.provider as keyof typeof texts.providers] ?? row.provider;
  return (
    <li class="row">
      <div class="row-main">
        <strong title={row.user_agent}>{browserName(row.user_agent) ?? texts.unknownBrowser}</strong>
        <p class="hint">
          {texts.used} <Time at={row.used_at} /> {texts.from(row.address)} · {provider}, {texts.signedIn}{' '}
          <Time at={row.created_at} />, {texts.expires} <Time at={row.expires_at} />
        </p>
      </div>
      {row.is_current ? <Badge kind="good">{texts.here}</Badge> : <Button onClick={onEnd}>{texts.end}</Button>}
    </li>
  );
}
