import { useState } from 'preact/hooks';
import { syncNickname } from '#clients/typescript/src/operations.ts';
import type { FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { faultOf, RadioGroup, TextField } from '../../components/field.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { nicknameTexts as texts } from '../../texts.ts';

type Choice = 'game' | 'own' | 'none';

const isNickname = (text: string) => text.trim() !== '' && text.trim().length <= 32;

/** Sets the nickname of a member in the chat, and offers to take that back. */
export function NicknameDialog(props: {
  person: FoundPerson;
  chatId: string;
  onClose: () => void;
  onChange: () => void;
}) {
  const { person, chatId, onClose, onChange } = props;
  const { rest } = useGuild();
  const toasts = useToasts();
  const [choice, setChoice] = useState<Choice>(person.game_id === null ? 'own' : 'game');
  const [nickname, setNickname] = useState(person.nickname ?? '');
  const [isChecked, setIsChecked] = useState(false);
  const save = useAction(async () => {
    setIsChecked(true);
    if (choice === 'own' && !isNickname(nickname)) return;
    const wanted = choice === 'none' ? null : nickname.trim();
    const args = choice === 'game' ? { template: '{game_username}' } : { nickname: wanted };
    const change = await syncNickname(rest, { chat_id: chatId, ...args });
    onChange();
    toasts.done(texts.done(change.to), () => {
      syncNickname(rest, { chat_id: chatId, nickname: change.from }).then(onChange, toasts.failed);
    });
    onClose();
  });
  const options: { value: Choice; label: string; hint?: string }[] = [
    { value: 'own', label: texts.own },
    { value: 'none', label: texts.none },
  ];
  if (person.game_id !== null) options.unshift({ value: 'game', label: texts.gameName, hint: texts.gameNameHint });
  return (
    <Dialog
      title={texts.title}
      onClose={onClose}
      onSubmit={() => void save.run()}
      actions={<DialogButtons onCancel={onClose} action={texts.save} isBusy={save.isBusy} />}
    >
      {save.error && <ErrorNote error={save.error} />}
      <RadioGroup label={texts.nickname} value={choice} onChange={setChoice} options={options} />
      {choice === 'own' && (
        <TextField
          label={texts.own}
          error={isChecked && !isNickname(nickname) ? texts.fault : faultOf(save.error, 'nickname')}
          maxLength={32}
          value={nickname}
          onChange={setNickname}
        />
      )}
    </Dialog>
  );
}
