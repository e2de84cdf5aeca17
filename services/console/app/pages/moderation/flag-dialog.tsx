import { useState } from 'preact/hooks';
import { flagPlayer, unflagPlayer } from '#clients/typescript/src/operations.ts';
import type { FoundPerson, ShieldEntry } from '#clients/typescript/src/operations-types.ts';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { faultOf, TextArea, TextField } from '../../components/field.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { flagTexts as texts } from '../../texts.ts';
import { nameOfPerson } from '../people/accounts.ts';

const isText = (text: string, max: number) => text.trim() !== '' && text.trim().length <= max;

/** Puts a player on the guild's flagged list. */
export function FlagDialog(props: { person: FoundPerson; onClose: () => void; onChange: () => void }) {
  const { person, onClose, onChange } = props;
  const { rest } = useGuild();
  const toasts = useToasts();
  const [category, setCategory] = useState('');
  const [reason, setReason] = useState('');
  const [isChecked, setIsChecked] = useState(false);
  const gameId = person.game_id ?? 0;
  const save = useAction(async () => {
    setIsChecked(true);
    if (!isText(category, 50) || !isText(reason, 400)) return;
    const entry = { gameId, category: category.trim(), reason: reason.trim(), game_username: person.game_username };
    await flagPlayer(rest, entry);
    onChange();
    toasts.done(texts.done(nameOfPerson(person)), () => {
      unflagPlayer(rest, { gameId }).then(onChange, toasts.failed);
    });
    onClose();
  });
  return (
    <Dialog
      title={texts.titleFor(nameOfPerson(person))}
      onClose={onClose}
      onSubmit={() => void save.run()}
      actions={<DialogButtons onCancel={onClose} action={texts.action} isBusy={save.isBusy} />}
    >
      {save.error && <ErrorNote error={save.error} />}
      <TextField
        label={texts.category}
        hint={texts.categoryHint}
        error={isChecked && !isText(category, 50) ? texts.categoryMissing : faultOf(save.error, 'category')}
        maxLength={50}
        value={category}
        onChange={setCategory}
      />
      <TextArea
        label={texts.reason}
        error={isChecked && !isText(reason, 400) ? texts.reasonMissing : faultOf(save.error, 'reason')}
        rows={2}
        maxLength={400}
        value={reason}
        onChange={setReason}
      />
      <p class="hint">{texts.effect}</p>
    </Dialog>
  );
}

/** The source of entries that guilds make themselves. Others are made by operators for all guilds. */
const OWN_SOURCE = 'api';

/** True if the guild can remove an entry of the flagged list. */
export const isOwnFlag = ({ source }: ShieldEntry): boolean => source === OWN_SOURCE;

/** Takes a player off the guild's flagged list, and offers to take that back. */
export function useUnflag(onChange: () => void): (entry: ShieldEntry) => Promise<void> {
  const { rest } = useGuild();
  const toasts = useToasts();
  return async ({ game_id: gameId, game_username, category, reason }) => {
    try {
      await unflagPlayer(rest, { gameId });
      onChange();
      toasts.done(texts.removed(game_username ?? String(gameId)), () => {
        flagPlayer(rest, { gameId, category, reason, game_username }).then(onChange, toasts.failed);
      });
    } catch (error) {
      toasts.failed(error);
    }
  };
}
