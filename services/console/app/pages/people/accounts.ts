import type { FoundPerson } from '#clients/typescript/src/operations-types.ts';

/** True for an ID of the chat platform. IDs of the game platform are always shorter. */
export const isChatId = (text: string): boolean => /^[0-9]{17,20}$/.test(text);

/** True for an ID of the game platform. */
export const isGameId = (text: string): boolean =>
  /^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(Number(text));

/** The name that people know somebody by; the ID if there is no name. */
export function nameOfPerson(person: FoundPerson): string {
  const { nickname, chat_username, game_username, game_id, chat_id } = person;
  return nickname ?? game_username ?? chat_username ?? String(game_id ?? chat_id ?? '');
}

/** The ID in the address of a person's page: that of the game account, or of the chat account if there is no other. */
export const idOfPerson = ({ game_id, chat_id }: FoundPerson): string => String(game_id ?? chat_id ?? '');

/** A person of whom only this ID is known. */
export function personOfId(id: string): FoundPerson {
  const isChat = isChatId(id);
  return {
    chat_id: isChat ? id : null,
    chat_username: null,
    nickname: null,
    game_id: isChat ? null : Number(id),
    game_username: null,
  };
}

/** The persons to offer for a search: those found, and somebody of whom only the ID that was typed is known. */
export function candidates(query: string, found: readonly FoundPerson[]): readonly FoundPerson[] {
  const isUnknownId = found.length === 0 && (isChatId(query) || isGameId(query));
  return isUnknownId ? [personOfId(query)] : found;
}
