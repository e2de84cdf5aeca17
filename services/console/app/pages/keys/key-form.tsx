import { useState } from 'preact/hooks';
import { GAME_SCOPES, SCOPES, type Scope } from '#proto/rest/scopes.ts';
import { consoleCall } from '../../api/console.ts';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Checkbox, faultOf, RadioGroup, Select, TextArea, TextField } from '../../components/field.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { scopeTexts, keysTexts as texts } from '../../texts.ts';
import type { Key, KeyWithSecret } from './types.ts';

type Purpose = keyof typeof texts.purposes;
type Expiry = keyof typeof texts.expiries;

const READ_SCOPES = SCOPES.filter((scope) => scope.endsWith(':read'));
const SECONDS: Record<Exclude<Expiry, 'never'>, number> = { month: 2_592_000, quarter: 7_776_000, year: 31_536_000 };

/** Creates a key, or changes name, scopes and addresses of one. `onDone` gets the new key with its secret. */
export function KeyForm(props: {
  apiKey: Key | undefined;
  onClose: () => void;
  onDone: (created: KeyWithSecret | undefined) => void;
}) {
  const { apiKey, onClose, onDone } = props;
  const guild = useGuild();
  const toasts = useToasts();
  const [name, setName] = useState(apiKey?.name ?? '');
  const [purpose, setPurpose] = useState<Purpose>(apiKey ? 'custom' : 'game');
  const [chosen, setChosen] = useState<readonly string[]>(apiKey?.scopes ?? GAME_SCOPES);
  const [expiry, setExpiry] = useState<Expiry>('never');
  const [addresses, setAddresses] = useState(apiKey?.ip_allowlist.join('\n') ?? '');
  const [isChecked, setIsChecked] = useState(false);
  const scopes = { game: GAME_SCOPES, read: READ_SCOPES, custom: chosen }[purpose] as Scope[];
  const nameFault = name.trim() === '' ? texts.nameFault : undefined;
  const scopesFault = scopes.length === 0 && !apiKey?.legacy ? texts.scopesFault : undefined;
  const save = useAction(async () => {
    setIsChecked(true);
    if (nameFault || scopesFault) return;
    const ip_allowlist = addresses.split(/\s+/).filter((line) => line !== '');
    const body = { name: name.trim(), scopes, ip_allowlist };
    const params = { guildId: guild.id };
    if (apiKey) {
      const { scopes: _, ...others } = body;
      const changed = apiKey.legacy ? others : body;
      await consoleCall('updateKey', { params: { ...params, keyId: apiKey.id }, body: changed });
      toasts.done(texts.saved);
      onDone(undefined);
      return;
    }
    const expires_at = expiry === 'never' ? null : Math.floor(Date.now() / 1_000) + SECONDS[expiry];
    onDone(await consoleCall('createKey', { params, body: { ...body, expires_at } }));
  });
  return (
    <Dialog
      title={apiKey ? texts.editTitle : texts.createTitle}
      onClose={onClose}
      onSubmit={() => void save.run()}
      actions={<DialogButtons onCancel={onClose} action={apiKey ? texts.save : texts.create} isBusy={save.isBusy} />}
    >
      {save.error && <ErrorNote error={save.error} />}
      <TextField
        label={texts.name}
        hint={texts.nameHint}
        error={(isChecked ? nameFault : undefined) ?? faultOf(save.error, 'name')}
        maxLength={64}
        value={name}
        onChange={setName}
      />
      {!apiKey && (
        <RadioGroup
          label={texts.purpose}
          value={purpose}
          onChange={setPurpose}
          options={(['game', 'read', 'custom'] as const).map((value) => ({ value, ...texts.purposes[value] }))}
        />
      )}
      {purpose === 'custom' && !apiKey?.legacy && (
        <ScopeChoice chosen={chosen} onChange={setChosen} error={isChecked ? scopesFault : undefined} />
      )}
      {!apiKey && (
        <Select
          label={texts.expiry}
          value={expiry}
          onChange={setExpiry}
          options={(['never', 'month', 'quarter', 'year'] as const).map((value) => ({
            value,
            label: texts.expiries[value],
          }))}
        />
      )}
      {(purpose !== 'game' || apiKey) && (
        <TextArea
          label={texts.addresses}
          hint={texts.addressesHint}
          error={faultOf(save.error, 'ip_allowlist')}
          value={addresses}
          onChange={setAddresses}
        />
      )}
    </Dialog>
  );
}

function ScopeChoice(props: {
  chosen: readonly string[];
  onChange: (scopes: readonly string[]) => void;
  error: string | undefined;
}) {
  const { chosen, onChange, error } = props;
  return (
    <fieldset class="choices">
      <legend>{texts.scopes}</legend>
      {error && <p class="field-error">{error}</p>}
      {SCOPES.map((scope) => (
        <Checkbox
          key={scope}
          label={scopeTexts[scope]}
          hint={<code>{scope}</code>}
          checked={chosen.includes(scope)}
          onChange={(isChosen) => onChange(isChosen ? [...chosen, scope] : chosen.filter((other) => other !== scope))}
        />
      ))}
    </fieldset>
  );
}
