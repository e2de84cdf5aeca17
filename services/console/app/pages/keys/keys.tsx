import { useState } from 'preact/hooks';
import { consoleCall } from '../../api/console.ts';
import { usePages } from '../../api/use-pages.ts';
import { Button } from '../../components/button.tsx';
import { Card, EmptyState, ErrorNote, Skeleton } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { keysTexts as texts } from '../../texts.ts';
import { KeyForm } from './key-form.tsx';
import { KeyRow } from './key-row.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import type { Key, KeyWithSecret } from './types.ts';
import { UsageChart } from './usage-chart.tsx';

/** The API keys of the guild. */
export function KeysPage() {
  const guild = useGuild();
  const [edited, setEdited] = useState<Key | 'new'>();
  const [created, setCreated] = useState<KeyWithSecret>();
  const list = usePages(async (cursor, signal) => {
    const query = cursor === undefined ? {} : { cursor };
    const page = await consoleCall('listKeys', { params: { guildId: guild.id }, query }, signal);
    return { rows: page.keys, next: page.next_cursor };
  }, []);
  const keys = list.pages?.flat() ?? [];
  const create = (
    <Button kind="primary" icon="plus" onClick={() => setEdited('new')}>
      {texts.create}
    </Button>
  );
  return (
    <Page title={texts.title} description={texts.description} actions={create}>
      {list.error && <ErrorNote error={list.error} onRetry={list.reload} />}
      <Card isFlush>
        {!list.pages && !list.error && <Skeleton rows={4} />}
        {list.pages && keys.length === 0 && (
          <EmptyState icon="keys" title={texts.emptyTitle}>
            {texts.empty}
          </EmptyState>
        )}
        <ul class="rows">
          {keys.map((key) => (
            <KeyRow
              key={key.id}
              apiKey={key}
              onEdit={() => setEdited(key)}
              onRotated={(rotated) => {
                setCreated(rotated);
                list.reload();
              }}
              onChanged={list.reload}
            />
          ))}
        </ul>
        {list.hasMore && (
          <div class="next-page">
            <Button kind="quiet" isBusy={list.isLoading} onClick={list.loadMore}>
              {texts.more}
            </Button>
          </div>
        )}
      </Card>
      <UsageChart />
      {edited && (
        <KeyForm
          apiKey={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onDone={(key) => {
            setEdited(undefined);
            setCreated(key);
            list.reload();
          }}
        />
      )}
      {created && <SecretDialog apiKey={created} onClose={() => setCreated(undefined)} />}
    </Page>
  );
}
