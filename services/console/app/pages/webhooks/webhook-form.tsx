import { useState } from 'preact/hooks';
import { createWebhook, updateWebhook } from '#clients/typescript/src/operations.ts';
import type { Webhook, WebhookFormat } from '#clients/typescript/src/operations-types.ts';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Checkbox, faultOf, RadioGroup, TextField } from '../../components/field.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { webhooksTexts as texts } from '../../texts.ts';

const GROUPS = Object.keys(texts.groups) as (keyof typeof texts.groups)[];

/** Adds a webhook or changes one. `onDone` gets the secret of a new one that a program receives. */
export function WebhookForm(props: {
  webhook: Webhook | undefined;
  onClose: () => void;
  onDone: (secret: string | undefined) => void;
}) {
  const { webhook, onClose, onDone } = props;
  const guild = useGuild();
  const toasts = useToasts();
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [note, setNote] = useState(webhook?.description ?? '');
  const [format, setFormat] = useState<WebhookFormat>(webhook?.format ?? 'standard');
  const [types, setTypes] = useState<readonly string[]>(webhook?.types ?? ['*']);
  const [isChecked, setIsChecked] = useState(false);
  // The service decides whether http:// is allowed; it is where the receiver runs on the same machine.
  const urlFault = /^https?:\/\//.test(url) && URL.canParse(url) ? undefined : texts.urlFault;
  const typesFault = types.length === 0 ? texts.eventsFault : undefined;
  const save = useAction(async () => {
    setIsChecked(true);
    if (urlFault || typesFault) return;
    const body = { url, types: [...types], description: note.trim() === '' ? null : note.trim() };
    if (webhook) {
      await updateWebhook(guild.rest, { ...body, id: webhook.id });
      toasts.done(texts.saved);
      onDone(undefined);
    } else {
      const { secret } = await createWebhook(guild.rest, { ...body, format });
      toasts.done(texts.added);
      onDone(format === 'standard' ? secret : undefined);
    }
  });
  return (
    <Dialog
      title={webhook ? texts.editTitle : texts.addTitle}
      onClose={onClose}
      onSubmit={() => void save.run()}
      actions={<DialogButtons onCancel={onClose} action={webhook ? texts.save : texts.add} isBusy={save.isBusy} />}
    >
      {save.error && <ErrorNote error={save.error} />}
      <TextField
        label={texts.url}
        hint={texts.urlHint}
        type="url"
        error={(isChecked ? urlFault : undefined) ?? faultOf(save.error, 'url')}
        value={url}
        onChange={(text) => setUrl(text.trim())}
      />
      {!webhook && (
        <RadioGroup
          label={texts.format}
          value={format}
          onChange={setFormat}
          options={(['standard', 'chat'] as const).map((value) => ({ value, ...texts.formats[value] }))}
        />
      )}
      <TypeChoice types={types} onChange={setTypes} error={isChecked ? typesFault : undefined} />
      <TextField label={texts.note} value={note} maxLength={200} onChange={setNote} />
    </Dialog>
  );
}

function TypeChoice(props: {
  types: readonly string[];
  onChange: (types: readonly string[]) => void;
  error: string | undefined;
}) {
  const { types, onChange, error } = props;
  const isAll = types.includes('*');
  // Types that were set through the API and are no group of this list stay.
  const names = [...new Set([...GROUPS, ...types.filter((type) => type !== '*')])];
  const toggle = (name: string, isChosen: boolean) =>
    onChange(isChosen ? [...types, name] : types.filter((type) => type !== name));
  return (
    <>
      <RadioGroup
        label={texts.events}
        value={isAll ? 'all' : 'some'}
        onChange={(choice) => onChange(choice === 'all' ? ['*'] : ['ban.*'])}
        options={[
          { value: 'all', label: texts.allEvents },
          { value: 'some', label: texts.someEvents },
        ]}
      />
      {error && <p class="field-error">{error}</p>}
      {!isAll && (
        <div class="check-grid">
          {names.map((name) => (
            <Checkbox
              key={name}
              label={texts.groups[name as keyof typeof texts.groups] ?? name}
              checked={types.includes(name)}
              onChange={(isChosen) => toggle(name, isChosen)}
            />
          ))}
        </div>
      )}
    </>
  );
}
