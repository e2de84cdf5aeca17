import type { FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { peopleTexts as texts } from '../../texts.ts';
import { nameOfPerson } from './accounts.ts';

/** A person in one or two lines: the name, then the accounts. */
export function PersonSummary({ person }: { person: FoundPerson }) {
  const { chat_id, chat_username, game_id, game_username } = person;
  const accounts = [
    game_id !== null && texts.inGame(game_username ?? String(game_id)),
    chat_id !== null && texts.inChat(chat_username ?? chat_id),
  ].filter((text) => text !== false);
  return (
    <span class="person-summary">
      <strong>{nameOfPerson(person)}</strong>
      <span class="hint">{accounts.join(' · ')}</span>
    </span>
  );
}
