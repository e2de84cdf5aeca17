import type { Decision, Punishment } from '#clients/typescript/src/operations-types.ts';
import { PersonName } from '../../components/person.tsx';
import { Badge } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { moderationTexts as texts } from '../../texts.ts';

/** Who made a decision, if the program or the session that made it named a moderator. */
export function Moderator({ row }: { row: Pick<Decision, 'moderator_chat_id' | 'moderator_game_id'> }) {
  const { moderator_chat_id, moderator_game_id } = row;
  if (moderator_game_id !== null) return <PersonName gameId={moderator_game_id} />;
  if (moderator_chat_id !== null) return <PersonName chatId={moderator_chat_id} />;
  return <span>{texts.notNamed}</span>;
}

/** Where a decision applies. */
export const placeText = ({ place_id }: Pick<Decision, 'place_id'>): string =>
  place_id === null ? texts.everywhere : texts.place(place_id);

/** When a ban or mute ends, as a person says it. */
export function Ends({ row }: { row: Pick<Punishment, 'expires_at'> }) {
  if (row.expires_at === null) return <Badge kind="bad">{texts.permanent}</Badge>;
  if (row.expires_at <= Date.now() / 1_000) return <span>{texts.ended}</span>;
  return <Time at={row.expires_at} />;
}
