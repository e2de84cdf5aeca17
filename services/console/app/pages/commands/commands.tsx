import { useState } from 'preact/hooks';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { commandsTexts as texts } from '../../texts.ts';
import { SendForm } from './send-form.tsx';
import { SentCommands } from './sent-commands.tsx';

/** Sends commands to game servers, and lists them with the answers. */
export function CommandsPage() {
  const guild = useGuild();
  const [newest, setNewest] = useState<string>();
  return (
    <Page title={texts.title} description={texts.description}>
      {guild.hasScope('commands:write') && <SendForm onSent={setNewest} />}
      <SentCommands newest={newest} />
    </Page>
  );
}
