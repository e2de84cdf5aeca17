import { useState } from 'preact/hooks';
import { listWebhooks } from '#clients/typescript/src/operations.ts';
import type { Webhook } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { Button } from '../../components/button.tsx';
import { CopyBox } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Card, EmptyState, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { webhooksTexts as texts } from '../../texts.ts';
import { WebhookForm } from './webhook-form.tsx';
import { WebhookRow } from './webhook-row.tsx';

/** Where events of the guild are sent. */
export function WebhooksPage() {
  const guild = useGuild();
  const [edited, setEdited] = useState<Webhook | 'new'>();
  const [secret, setSecret] = useState<string>();
  const list = useData((signal) => listWebhooks(guild.rest, { signal }), []);
  const add = guild.hasScope('webhooks:write') && (
    <Button kind="primary" icon="plus" onClick={() => setEdited('new')}>
      {texts.add}
    </Button>
  );
  return (
    <Page title={texts.title} description={texts.description} actions={add}>
      {list.error && <ErrorNote error={list.error} onRetry={list.reload} />}
      <Card isFlush>
        {!list.data && !list.error && <Skeleton rows={3} />}
        {list.data?.webhooks.length === 0 && (
          <EmptyState icon="webhooks" title={texts.emptyTitle}>
            {texts.empty}
          </EmptyState>
        )}
        <ul class="rows">
          {list.data?.webhooks.map((webhook) => (
            <WebhookRow
              key={webhook.id}
              webhook={webhook}
              onEdit={() => setEdited(webhook)}
              onSecret={setSecret}
              onChanged={list.reload}
            />
          ))}
        </ul>
      </Card>
      {edited && (
        <WebhookForm
          webhook={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onDone={(created) => {
            setEdited(undefined);
            setSecret(created);
            list.reload();
          }}
        />
      )}
      {secret !== undefined && <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </Page>
  );
}

function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog
      title={texts.secretTitle}
      onClose={onClose}
      isWide
      actions={
        <Button kind="primary" onClick={onClose}>
          {texts.close}
        </Button>
      }
    >
      <Note kind="warn">{texts.secretWarning}</Note>
      <CopyBox text={secret} label={texts.copySecret} />
    </Dialog>
  );
}
