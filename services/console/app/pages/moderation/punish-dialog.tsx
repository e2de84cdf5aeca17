import { useState } from 'preact/hooks';
import type { FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { DurationPicker } from '../../components/duration.tsx';
import { Checkbox, faultOf, RadioGroup, TextArea, TextField } from '../../components/field.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { useSession } from '../../shell/session.tsx';
import { punishTexts as texts } from '../../texts.ts';
import { nameOfPerson } from '../people/accounts.ts';
import { PersonPicker } from '../people/person-picker.tsx';
import { moderatorOf } from './moderator.ts';
import {
  DEFAULT_DURATION_SECONDS,
  faultsOfPunish,
  lengthText,
  type PunishForm,
  requestOfPunish,
} from './punish-form.ts';
import { lift, type PunishmentKind, punish, scopeOf } from './punishments.ts';

export interface PunishDialogProps {
  kind: PunishmentKind;
  /** The player; chosen in the dialog if there is none. */
  person?: FoundPerson | undefined;
  onClose: () => void;
  /** Called after the ban or mute, and again if it is taken back. */
  onChange: () => void;
}

/** Bans or mutes a player. */
export function PunishDialog({ kind, person, onClose, onChange }: PunishDialogProps) {
  const [form, setForm] = useState<PunishForm>({
    person,
    duration: DEFAULT_DURATION_SECONDS,
    reason: '',
    isEverywhere: true,
    placeId: '',
    isReplacing: false,
  });
  const [isChecked, setIsChecked] = useState(false);
  const change = (changed: Partial<PunishForm>) => setForm((now) => ({ ...now, ...changed }));
  const faults = isChecked ? faultsOfPunish(form) : {};
  const save = useSave(kind, onChange);
  const action = useAction(async () => {
    setIsChecked(true);
    if (Object.keys(faultsOfPunish(form)).length > 0) return;
    await save(form);
    onClose();
  });
  return (
    <Dialog
      title={person ? texts[kind].titleFor(nameOfPerson(person)) : texts[kind].title}
      onClose={onClose}
      onSubmit={() => void action.run()}
      actions={
        <DialogButtons
          onCancel={onClose}
          action={`${texts[kind].action} ${lengthText(form.duration)}`}
          isBusy={action.isBusy}
          isDanger
        />
      }
    >
      {action.error && action.error.code !== 'CONFLICT' && <ErrorNote error={action.error} />}
      {!person && (
        <PersonPicker
          label={texts.player}
          error={faults.person}
          value={form.person}
          needs="game"
          onChange={(chosen) => change({ person: chosen })}
        />
      )}
      <DurationPicker label={texts.duration} value={form.duration} onChange={(duration) => change({ duration })} />
      <TextArea
        label={texts.reason}
        hint={texts.reasonHint}
        error={faults.reason ?? faultOf(action.error, 'reason')}
        rows={2}
        maxLength={400}
        value={form.reason}
        onChange={(reason) => change({ reason })}
      />
      <Scope form={form} change={change} fault={faults.place ?? faultOf(action.error, 'place_id')} />
      {(action.error?.code === 'CONFLICT' || form.isReplacing) && (
        <Checkbox
          label={texts[kind].exists}
          checked={form.isReplacing}
          onChange={(isReplacing) => change({ isReplacing })}
        />
      )}
      <p class="hint">{texts[kind].effect}</p>
    </Dialog>
  );
}

function Scope(props: { form: PunishForm; change: (changed: Partial<PunishForm>) => void; fault: string | undefined }) {
  const { form, change, fault } = props;
  return (
    <>
      <RadioGroup
        label={texts.scope}
        value={form.isEverywhere ? 'all' : 'place'}
        onChange={(value) => change({ isEverywhere: value === 'all' })}
        options={[
          { value: 'all', label: texts.everywhere },
          { value: 'place', label: texts.onePlace },
        ]}
      />
      {!form.isEverywhere && (
        <TextField
          label={texts.place}
          hint={texts.placeHint}
          error={fault}
          inputMode="numeric"
          value={form.placeId}
          onChange={(text) => change({ placeId: text.trim() })}
        />
      )}
    </>
  );
}

/** Sends the form, and offers to take it back. */
function useSave(kind: PunishmentKind, onChange: () => void) {
  const { rest } = useGuild();
  const { session } = useSession();
  const toasts = useToasts();
  return async (form: PunishForm) => {
    const { person } = form;
    if (person?.game_id == null) return;
    const moderator = await moderatorOf(rest, session?.person.id ?? '');
    const made = await punish(rest, kind, { ...requestOfPunish(form, person.game_id), ...moderator });
    onChange();
    const undo = async () => {
      await lift(rest, kind, { game_id: made.game_id, ...moderator, ...scopeOf(made) });
      toasts.done(texts.undone);
      onChange();
    };
    toasts.done(texts[kind].done(nameOfPerson(person), lengthText(form.duration)), () => {
      undo().catch(toasts.failed);
    });
  };
}
