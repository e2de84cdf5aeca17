import { useState } from 'preact/hooks';
import { linkAccount, unlinkAccount } from '#clients/typescript/src/operations.ts';
import type { FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { faultOf, TextField } from '../../components/field.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { linkTexts as texts } from '../../texts.ts';
import { isChatId, isGameId } from './accounts.ts';

/** Links the account of a person with one of the other platform, by its ID. */
export function LinkDialog(props: { person: FoundPerson; onClose: () => void; onChange: () => void }) {
  const { person, onClose, onChange } = props;
  const { rest } = useGuild();
  const toasts = useToasts();
  const [chatId, setChatId] = useState(person.chat_id ?? '');
  const [gameId, setGameId] = useState(person.game_id === null ? '' : String(person.game_id));
  const [isChecked, setIsChecked] = useState(false);
  const link = useAction(async () => {
    setIsChecked(true);
    if (!isChatId(chatId) || !isGameId(gameId)) return;
    const { chat_id } = await linkAccount(rest, { chat_id: chatId, game_id: gameId });
    onChange();
    toasts.done(texts.linked, () => {
      unlinkAccount(rest, { chat_id }).then(onChange, toasts.failed);
    });
    onClose();
  });
  return (
    <Dialog
      title={texts.linkTitle}
      onClose={onClose}
      onSubmit={() => void link.run()}
      actions={<DialogButtons onCancel={onClose} action={texts.link} isBusy={link.isBusy} />}
    >
      {link.error && <ErrorNote error={link.error} />}
      <TextField
        label={texts.chatId}
        hint={texts.chatIdHint}
        error={isChecked && !isChatId(chatId) ? texts.chatIdFault : faultOf(link.error, 'chat_id')}
        inputMode="numeric"
        disabled={person.chat_id !== null}
        value={chatId}
        onChange={(text) => setChatId(text.trim())}
      />
      <TextField
        label={texts.gameId}
        hint={texts.gameIdHint}
        error={isChecked && !isGameId(gameId) ? texts.gameIdFault : faultOf(link.error, 'game_id')}
        inputMode="numeric"
        disabled={person.game_id !== null}
        value={gameId}
        onChange={(text) => setGameId(text.trim())}
      />
      <p class="hint">{texts.linkEffect}</p>
    </Dialog>
  );
}
