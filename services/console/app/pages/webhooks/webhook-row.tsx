import { useState } from 'preact/hooks';
import { deleteWebhook, rotateWebhookSecret, testWebhook, updateWebhook } from '#clients/typescript/src/operations.ts';
import type { Webhook } from '#clients/typescript/src/operations-types.ts';
import { Button } from '../../components/button.tsx';
import { useConfirm } from '../../components/confirm.tsx';
import { Badge, Note } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { webhooksTexts as texts } from '../../texts.ts';
import { Deliveries } from './deliveries.tsx';

/** A webhook with its state, what can be done with it, and its deliveries. */
export function WebhookRow(props: {
  webhook: Webhook;
  onEdit: () => void;
  onSecret: (secret: string) => void;
  onChanged: () => void;
}) {
  const { webhook, onEdit, onSecret, onChanged } = props;
  const { id, url, description, types, enabled, disabled_reason, failing_since } = webhook;
  const guild = useGuild();
  const confirm = useConfirm();
  const toasts = useToasts();
  const [isOpen, setIsOpen] = useState(false);
  const [tested, setTested] = useState<{ isGood: boolean; text: string }>();
  const [attempts, setAttempts] = useState(0);
  const act = (work: () => Promise<unknown>) => work().catch(toasts.failed);
  const test = useAction(async () => {
    const { status, latency_ms, error } = await testWebhook(guild.rest, { id });
    const isGood = status !== null && status < 300;
    setTested({
      isGood,
      text: status === null ? texts.testFailed(error ?? '') : texts.testWorked(status, latency_ms),
    });
    setAttempts((count) => count + 1);
  });
  const turn = () =>
    act(async () => {
      await updateWebhook(guild.rest, { id, enabled: !enabled });
      onChanged();
    });
  const rotate = async () => {
    const question = { title: texts.rotateTitle, consequence: texts.rotateConsequence, action: texts.rotate };
    if (await confirm({ ...question, isDanger: false }))
      await act(async () => onSecret((await rotateWebhookSecret(guild.rest, { id })).secret));
  };
  const remove = async () => {
    const question = { title: texts.removeTitle, consequence: texts.removeConsequence(url), action: texts.remove };
    if (!(await confirm(question))) return;
    await act(async () => {
      await deleteWebhook(guild.rest, { id });
      toasts.done(texts.removed);
      onChanged();
    });
  };
  return (
    <li class="row">
      <div class="row-main">
        <strong class="breakable">{description ?? url}</strong> <State webhook={webhook} />
        {description !== null && <p class="hint breakable">{url}</p>}
        <p class="hint">
          {texts.types(types)}
          {disabled_reason !== null && ` · ${texts.reasons[disabled_reason]}`}
          {enabled && failing_since !== null && (
            <>
              {' '}
              · {texts.failingSince} <Time at={failing_since} />
            </>
          )}
        </p>
      </div>
      {guild.hasScope('webhooks:write') && (
        <div class="row-actions">
          <Button isBusy={test.isBusy} onClick={() => void test.run()}>
            {texts.test}
          </Button>
          <Button onClick={onEdit}>{texts.change}</Button>
          <Button onClick={() => void turn()}>{enabled ? texts.turnOff : texts.turnOn}</Button>
          {webhook.format === 'standard' && <Button onClick={() => void rotate()}>{texts.rotate}</Button>}
          <Button onClick={() => void remove()}>{texts.remove}</Button>
        </div>
      )}
      <div class="row-wide" aria-live="polite">
        {test.error && <Note kind="bad">{test.error.message}</Note>}
        {tested && !test.error && <Note kind={tested.isGood ? 'good' : 'bad'}>{tested.text}</Note>}
      </div>
      <details class="more server-who" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary>{texts.deliveries}</summary>
        {isOpen && <Deliveries webhookId={id} attempts={attempts} />}
      </details>
    </li>
  );
}

function State({ webhook: { enabled, failing_since } }: { webhook: Webhook }) {
  if (!enabled) return <Badge kind="warn">{texts.states.off}</Badge>;
  return failing_since === null ? (
    <Badge kind="good">{texts.states.on}</Badge>
  ) : (
    <Badge kind="bad">{texts.states.failing}</Badge>
  );
}
