import { useState } from 'preact/hooks';
import { GUILD_ROLES, type GuildRole, includesGuildRole } from '#proto/console/roles.ts';
import { consoleCall } from '../../api/console.ts';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { faultOf, RadioGroup, TextField } from '../../components/field.tsx';
import { PersonName } from '../../components/person.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { roleHints, roleTexts, accessTexts as texts } from '../../texts.ts';

const CHAT_ID = /^[0-9]{5,20}$/;

/** Gives a chat account a role, or changes the role that it has. */
export function InviteDialog(props: {
  access: { chat_id: string; role: GuildRole } | undefined;
  onClose: () => void;
  onDone: () => void;
}) {
  const { access, onClose, onDone } = props;
  const guild = useGuild();
  const toasts = useToasts();
  const [chatId, setChatId] = useState(access?.chat_id ?? '');
  const [role, setRole] = useState<GuildRole>(access?.role ?? 'moderator');
  const [isChecked, setIsChecked] = useState(false);
  const wrong = isChecked && !CHAT_ID.test(chatId) ? texts.chatIdFault : undefined;
  const save = useAction(async () => {
    setIsChecked(true);
    if (!CHAT_ID.test(chatId)) return;
    await consoleCall('setAccess', { params: { guildId: guild.id, chatId }, body: { role } });
    toasts.done(access ? texts.changed : texts.invited);
    onDone();
  });
  // Nobody may give a role above their own.
  const roles = GUILD_ROLES.filter((name) => includesGuildRole(guild.role, name));
  return (
    <Dialog
      title={access ? texts.changeTitle : texts.inviteTitle}
      onClose={onClose}
      onSubmit={() => void save.run()}
      actions={<DialogButtons onCancel={onClose} action={access ? texts.save : texts.invite} isBusy={save.isBusy} />}
    >
      {save.error && <ErrorNote error={save.error} />}
      {access ? (
        <p>
          <PersonName chatId={access.chat_id} isPlain />
        </p>
      ) : (
        <TextField
          label={texts.chatId}
          hint={texts.chatIdHint}
          error={wrong ?? faultOf(save.error, 'chatId')}
          inputMode="numeric"
          value={chatId}
          onChange={(text) => setChatId(text.trim())}
        />
      )}
      <RadioGroup
        label={texts.role}
        value={role}
        onChange={setRole}
        options={roles.map((name) => ({ value: name, label: roleTexts[name], hint: roleHints[name] }))}
      />
    </Dialog>
  );
}
