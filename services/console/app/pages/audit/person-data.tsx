import { useState } from 'preact/hooks';
import { consoleCall } from '../../api/console.ts';
import { Button } from '../../components/button.tsx';
import { useConfirm } from '../../components/confirm.tsx';
import { TextField } from '../../components/field.tsx';
import { Card, ErrorNote } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { auditTexts as texts } from '../../texts.ts';

interface Account {
  chat_id?: string;
  game_id?: number;
}

/** Downloads or erases what is stored about a person. */
export function PersonData() {
  const guild = useGuild();
  const confirm = useConfirm();
  const toasts = useToasts();
  const [chatId, setChatId] = useState('');
  const [gameId, setGameId] = useState('');
  const [isChecked, setIsChecked] = useState(false);
  const isValid = /^[0-9]*$/.test(chatId + gameId) && chatId + gameId !== '';
  const account: Account = { ...(chatId && { chat_id: chatId }), ...(gameId && { game_id: Number(gameId) }) };
  const params = { guildId: guild.id };
  const download = useAction(async () => {
    setIsChecked(true);
    if (!isValid) return;
    const rows = await exportAll(guild.id, account);
    if (rows.length > 0) saveFile(`person-${chatId || gameId}.json`, JSON.stringify(rows, null, 2));
    toasts.done(rows.length === 0 ? texts.exportedNone : texts.exported(rows.length));
  });
  const erase = useAction(async () => {
    setIsChecked(true);
    if (!isValid) return;
    const counted = await consoleCall('erasePerson', { params, body: { ...account, dry_run: true } });
    const rows = counted.tables.reduce((sum, { rows }) => sum + rows, 0);
    if (rows === 0) {
      toasts.done(texts.eraseNone);
      return;
    }
    const question = { title: texts.eraseTitle, consequence: texts.eraseConsequence(rows), action: texts.erase };
    if (!(await confirm(question))) return;
    while (!(await consoleCall('erasePerson', { params, body: account })).is_done);
    toasts.done(texts.erasedDone);
  });
  const fault = isChecked && !isValid ? texts.idFault : undefined;
  const error = download.error ?? erase.error;
  return (
    <Card title={texts.tabs.data} description={texts.dataHint}>
      {error && <ErrorNote error={error} />}
      <div class="filters">
        <TextField
          label={texts.chatId}
          inputMode="numeric"
          error={fault}
          value={chatId}
          onChange={(text) => setChatId(text.trim())}
        />
        <TextField
          label={texts.gameId}
          inputMode="numeric"
          value={gameId}
          onChange={(text) => setGameId(text.trim())}
        />
      </div>
      <div class="form-end">
        {guild.may('person.export') && (
          <Button kind="primary" isBusy={download.isBusy} onClick={() => void download.run()}>
            {texts.export}
          </Button>
        )}
        {guild.may('person.erase') && (
          <Button kind="danger" isBusy={erase.isBusy} onClick={() => void erase.run()}>
            {texts.erase}
          </Button>
        )}
      </div>
    </Card>
  );
}

async function exportAll(guildId: string, account: Account): Promise<unknown[]> {
  const rows: unknown[] = [];
  let cursor: string | null = null;
  do {
    const body: Account & { cursor?: string } = { ...account, ...(cursor !== null && { cursor }) };
    const page = await consoleCall('exportPerson', { params: { guildId }, body });
    rows.push(...page.rows);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return rows;
}

function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  URL.revokeObjectURL(url);
}
