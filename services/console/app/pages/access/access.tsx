import { useState } from 'preact/hooks';
import { type ConsoleData, consoleCall } from '../../api/console.ts';
import { useData } from '../../api/use-data.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { useConfirm } from '../../components/confirm.tsx';
import { PersonName } from '../../components/person.tsx';
import { Badge, Card, EmptyState, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { roleTexts, accessTexts as texts } from '../../texts.ts';
import { InviteDialog } from './invite-dialog.tsx';

type Access = ConsoleData<'listAccess'>['access'][number];

/** Who may use the console for this guild, and with which role. */
export function AccessPage() {
  const guild = useGuild();
  const params = { guildId: guild.id };
  const list = useData((signal) => consoleCall('listAccess', { params }, signal), []);
  const [edited, setEdited] = useState<Access | 'new'>();
  const canChange = guild.may('access.write');
  const close = () => setEdited(undefined);
  return (
    <Page
      title={texts.title}
      description={texts.description}
      actions={
        canChange && (
          <Button kind="primary" icon="plus" onClick={() => setEdited('new')}>
            {texts.invite}
          </Button>
        )
      }
    >
      <Note>{texts.automatic}</Note>
      <Card isFlush>
        {list.error && <ErrorNote error={list.error} onRetry={list.reload} />}
        {!list.data && !list.error && <Skeleton rows={4} />}
        {list.data?.access.length === 0 && (
          <EmptyState icon="access" title={texts.emptyTitle}>
            {canChange ? texts.empty : texts.emptyForOthers}
          </EmptyState>
        )}
        <ul class="rows">
          {list.data?.access.map((access) => (
            <AccessRow
              key={access.chat_id}
              access={access}
              onEdit={canChange ? () => setEdited(access) : undefined}
              reload={list.reload}
            />
          ))}
        </ul>
      </Card>
      {edited && (
        <InviteDialog
          access={edited === 'new' ? undefined : edited}
          onClose={close}
          onDone={() => {
            close();
            list.reload();
          }}
        />
      )}
    </Page>
  );
}

function AccessRow(props: { access: Access; onEdit: (() => void) | undefined; reload: () => void }) {
  const { access, onEdit, reload } = props;
  const guild = useGuild();
  const confirm = useConfirm();
  const toasts = useToasts();
  const params = { guildId: guild.id, chatId: access.chat_id };
  const name = <PersonName chatId={access.chat_id} isPlain />;
  const remove = async () => {
    const isSure = await confirm({
      title: texts.removeTitle,
      consequence: (
        <p>
          {name} {texts.removeConsequence(roleTexts[access.role])}
        </p>
      ),
      action: texts.remove,
    });
    if (!isSure) return;
    try {
      await consoleCall('removeAccess', { params });
      reload();
      toasts.done(texts.removed, () => {
        consoleCall('setAccess', { params, body: { role: access.role } }).then(reload, toasts.failed);
      });
    } catch (error) {
      toasts.failed(error);
    }
  };
  return (
    <li class="row">
      <div class="row-main">
        <PersonName chatId={access.chat_id} />
        <p class="hint">
          {texts.givenBy(access.given_by)} <Time at={access.given_at} />
        </p>
      </div>
      <Badge kind="accent">{roleTexts[access.role]}</Badge>
      {onEdit && (
        <div class="row-actions">
          <Button onClick={onEdit}>{texts.change}</Button>
          <IconButton label={texts.remove} icon="trash" onClick={() => void remove()} />
        </div>
      )}
    </li>
  );
}
