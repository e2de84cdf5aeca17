import { escapeText, mention, roleMention, timeOf } from './text.ts';

/** The data of an event; a field may be missing, because large events are cut and those of erased persons emptied. */
export type Data = Record<string, unknown>;

/** Returns one detail of an event as text for a message; undefined if the event does not have it. */
export type Detail = (data: Data) => string | undefined;

const MAX_NAME = 100;
const MAX_VALUE = 200;
const MAX_ROLES = 10;

/** Returns a name, number or flag as text; undefined for lists, objects and empty texts. */
function valueOf(value: unknown, max = MAX_VALUE): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return escapeText(String(value), max);
  return typeof value === 'string' && value !== '' ? escapeText(value, max) || undefined : undefined;
}

/** A labelled detail of an event. Its value is that of the first of these fields that is set. */
export const labelled = (label: string, ...fields: string[]): Detail => {
  return (data) => {
    const value = fields.map((field) => valueOf(data[field])).find((text) => text !== undefined);
    return value === undefined ? undefined : `${label}: ${value}`;
  };
};

/** The player or member that the event is about. */
export const player: Detail = ({ game_username: name, game_id: gameId, target_game_id: targetId, chat_id: chatId }) => {
  const account = valueOf(gameId ?? targetId);
  const game = [valueOf(name, MAX_NAME), account && `(game account ${account})`].filter(Boolean).join(' ');
  return [mention(chatId), game].filter(Boolean).join(' ') || undefined;
};

export const moderator: Detail = ({ moderator_chat_id: chatId, moderator_game_id: gameId }) => {
  const account = valueOf(gameId);
  const who = mention(chatId) ?? (account && `game account ${account}`);
  return who && `by ${who}`;
};

/** When a ban or mute ends. */
export const end: Detail = ({ expires_at: at, is_permanent: isPermanent }) => {
  if (isPermanent === true) return 'permanent';
  const time = timeOf(at);
  return time && `until ${time}`;
};

/** A list of chat roles, as IDs or as objects with an ID. */
export const roles = (label: string, field: string): Detail => {
  return (data) => {
    const list: unknown[] = Array.isArray(data[field]) ? data[field] : [];
    const mentions = list
      .map((role) => roleMention(role) ?? roleMention(idOf(role)))
      .filter((text) => text !== undefined);
    if (mentions.length === 0) return undefined;
    const more = mentions.length > MAX_ROLES ? ` and ${mentions.length - MAX_ROLES} more` : '';
    return `${label}: ${mentions.slice(0, MAX_ROLES).join(' ')}${more}`;
  };
};

const idOf = (value: unknown) => (Object(value) as Data)['id'] ?? (Object(value) as Data)['role_id'];

/** The chat role of a binding: its name, or else its ID. */
export const boundRole: Detail = ({ chat_role_name: name, chat_role_id: id }) => {
  const role = valueOf(name, MAX_NAME) ?? roleMention(id);
  return role && `role: ${role}`;
};

export const reason = labelled('reason', 'reason');
