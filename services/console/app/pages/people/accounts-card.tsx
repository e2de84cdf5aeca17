import { useState } from 'preact/hooks';
import { linkAccount, unlinkAccount } from '#clients/typescript/src/operations.ts';
import type { FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { Button } from '../../components/button.tsx';
import { useConfirm } from '../../components/confirm.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Card } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { linkTexts, nicknameTexts, personPageTexts as texts } from '../../texts.ts';
import { nameOfPerson } from './accounts.ts';
import { LinkDialog } from './link-dialog.tsx';
import { NicknameDialog } from './nickname-dialog.tsx';

/** The accounts of a person, with their IDs, and whether they are linked. */
export function Accounts({ person, reload }: { person: FoundPerson; reload: () => void }) {
  const guild = useGuild();
  const [dialog, setDialog] = useState<'link' | 'nickname'>();
  const unlink = useUnlink(person, reload);
  const { chat_id, chat_username, nickname, game_id, game_username } = person;
  const isLinked = chat_id !== null && game_id !== null;
  const mayLink = guild.hasScope('verify:write');
  const close = () => setDialog(undefined);
  return (
    <Card
      title={texts.accounts}
      actions={
        <>
          {mayLink && isLinked && <Button onClick={() => void unlink()}>{linkTexts.unlink}</Button>}
          {mayLink && !isLinked && <Button onClick={() => setDialog('link')}>{linkTexts.link}</Button>}
        </>
      }
    >
      <ul class="status">
        <Account label={texts.gameAccount} name={game_username} id={game_id === null ? null : String(game_id)} />
        <Account label={texts.chatAccount} name={chat_username} id={chat_id} />
        {chat_id !== null && (
          <li class="status-row">
            <div class="row-main">
              <p class="hint">{texts.nickname}</p>
              <p>{nickname ?? nicknameTexts.none}</p>
            </div>
            {guild.hasScope('sync:write') && (
              <Button onClick={() => setDialog('nickname')}>{nicknameTexts.open}</Button>
            )}
          </li>
        )}
      </ul>
      {dialog === 'link' && <LinkDialog person={person} onClose={close} onChange={reload} />}
      {dialog === 'nickname' && chat_id !== null && (
        <NicknameDialog person={person} chatId={chat_id} onClose={close} onChange={reload} />
      )}
    </Card>
  );
}

function Account({ label, name, id }: { label: string; name: string | null; id: string | null }) {
  return (
    <li class="status-row">
      <div class="row-main">
        <p class="hint">{label}</p>
        <p>
          <strong>{name ?? (id === null ? texts.notLinked : texts.unknownAccount)}</strong>
        </p>
        {id !== null && <p class="mono">{id}</p>}
      </div>
      {id !== null && <CopyButton text={id} label={texts.copyId} />}
    </li>
  );
}

/** Unlinks the accounts after a question that names the consequence, and offers to take it back. */
function useUnlink(person: FoundPerson, reload: () => void): () => Promise<void> {
  const { rest } = useGuild();
  const confirm = useConfirm();
  const toasts = useToasts();
  return async () => {
    const { chat_id, chat_username, game_id, game_username } = person;
    if (chat_id === null || game_id === null) return;
    const isSure = await confirm({
      title: linkTexts.unlinkTitle(nameOfPerson(person)),
      consequence: linkTexts.unlinkConsequence(game_username ?? String(game_id), chat_username ?? chat_id),
      action: linkTexts.unlink,
    });
    if (!isSure) return;
    try {
      await unlinkAccount(rest, { chat_id });
      reload();
      toasts.done(linkTexts.unlinked, () => {
        linkAccount(rest, { chat_id, game_id, game_username }).then(reload, toasts.failed);
      });
    } catch (error) {
      toasts.failed(error);
    }
  };
}
