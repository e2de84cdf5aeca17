import { listWebhookDeliveries, replayWebhook } from '#clients/typescript/src/operations.ts';
import type { WebhookDelivery } from '#clients/typescript/src/operations-types.ts';
import { usePages } from '../../api/use-pages.ts';
import { Button } from '../../components/button.tsx';
import { Badge } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { webhooksTexts as texts } from '../../texts.ts';

/** The attempts to send events to a webhook, the newest first. `attempts` changes when there is another one. */
export function Deliveries({ webhookId, attempts }: { webhookId: string; attempts: number }) {
  const guild = useGuild();
  const toasts = useToasts();
  const list = usePages(
    async (cursor, signal) => {
      const args = { id: webhookId, limit: 20, ...(cursor && { cursor }) };
      const page = await listWebhookDeliveries(guild.rest, args, { signal });
      return { rows: page.deliveries, next: page.next_cursor };
    },
    [attempts],
  );
  const replay = async (eventId: string) => {
    try {
      await replayWebhook(guild.rest, { id: webhookId, event_ids: [eventId] });
      toasts.done(texts.replayed);
    } catch (error) {
      toasts.failed(error);
    }
  };
  const columns: Column<WebhookDelivery>[] = [
    { name: 'time', heading: texts.time, kind: 'title', cell: ({ at }) => <Time at={at} /> },
    { name: 'event', heading: texts.event, cell: ({ seq, attempt }) => `#${seq} (${texts.attempt} ${attempt})` },
    { name: 'result', heading: texts.result, cell: (delivery) => <Result delivery={delivery} /> },
    { name: 'answer', heading: texts.answer, cell: ({ answer }) => <code>{answer || texts.noAnswer}</code> },
  ];
  if (guild.hasScope('webhooks:write')) {
    const cell = ({ event_id }: WebhookDelivery) => (
      <Button onClick={() => void replay(event_id)}>{texts.again}</Button>
    );
    columns.push({ name: 'again', heading: texts.again, kind: 'actions', width: '150px', cell });
  }
  return (
    <Table
      label={texts.deliveries}
      columns={columns}
      list={list}
      rowKey={({ event_id, attempt, at }) => `${event_id} ${attempt} ${at}`}
      empty={<p class="hint">{texts.noDeliveries}</p>}
    />
  );
}

function Result({ delivery: { status, error, latency_ms, next_attempt_at } }: { delivery: WebhookDelivery }) {
  const isGood = status !== null && status < 300;
  return (
    <span>
      <Badge kind={isGood ? 'good' : 'bad'}>{status ?? error}</Badge> {texts.latency(latency_ms)}
      {next_attempt_at !== null && (
        <>
          , {texts.next} <Time at={next_attempt_at} />
        </>
      )}
    </span>
  );
}
