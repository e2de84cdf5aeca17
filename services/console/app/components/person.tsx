import { useEffect, useState } from 'preact/hooks';
import { type Name, nameOf } from '../api/names.ts';
import { useGuild } from '../shell/guild.tsx';
import { personTexts as texts } from '../texts.ts';

export interface PersonNameProps {
  chatId?: string | null | undefined;
  gameId?: number | string | null | undefined;
  /** The name if it is known already. */
  name?: string | null | undefined;
  /** Without a link to the page of the person. */
  isPlain?: boolean;
}

/** The name of a person with a link to their page. A name that is not known is looked up; without one, the ID is shown. */
export function PersonName({ chatId, gameId, name, isPlain }: PersonNameProps) {
  const guild = useGuild();
  const platform = gameId === null || gameId === undefined ? 'chat' : 'game';
  const id = String((platform === 'game' ? gameId : chatId) ?? '');
  const [found, setFound] = useState<Name | undefined>(name);
  useEffect(() => {
    setFound(name);
    if (name || id === '') return undefined;
    let isCurrent = true;
    void nameOf(guild.rest, platform, id).then((result) => isCurrent && setFound(result));
    return () => {
      isCurrent = false;
    };
  }, [id, platform, name]);
  if (id === '') return <span class="person">{texts.unknown}</span>;
  const title = `${platform === 'game' ? texts.gameAccount : texts.chatAccount} ${id}`;
  const text = found ?? id;
  if (isPlain)
    return (
      <span class="person" title={title}>
        {text}
      </span>
    );
  return (
    <a class="person" href={guild.path(`people/${id}`)} title={title}>
      {text}
    </a>
  );
}
