import { Button } from '../../components/button.tsx';
import { CopyBox } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Note } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { useSession } from '../../shell/session.tsx';
import { keysTexts as texts } from '../../texts.ts';
import type { KeyWithSecret } from './types.ts';

/** What a server script needs to start the plugin; the key itself is in the secrets of the experience. */
const snippetOf = (
  guildId: string,
  apiUrl: string,
) => `local ServerScriptService = game:GetService("ServerScriptService")
local GuildData = require(ServerScriptService.GuildData)
local guild = GuildData.new({
    guildId = "${guildId}",
    baseUrl = "${apiUrl}",
})
guild:start()`;

/** Shows the secret of a new key, once. */
export function SecretDialog({ apiKey, onClose }: { apiKey: KeyWithSecret; onClose: () => void }) {
  const guild = useGuild();
  const { session } = useSession();
  const isForGame = apiKey.scopes.includes('server:write');
  return (
    <Dialog
      title={texts.secretTitle}
      onClose={onClose}
      isWide
      actions={
        <Button kind="primary" onClick={onClose}>
          {texts.done}
        </Button>
      }
    >
      <Note kind="warn">{texts.secretWarning}</Note>
      <CopyBox text={apiKey.secret} label={texts.copyKey} />
      {isForGame && (
        <>
          <h3>{texts.snippetTitle}</h3>
          <p>{texts.snippetHint}</p>
          <CopyBox text={snippetOf(guild.id, session?.api_url ?? 'https://api.example.com')} />
        </>
      )}
    </Dialog>
  );
}
