/** Characters that are not shown, or that change how others are shown: control, format and unassigned characters. */
const INVISIBLE = /\p{C}/gu;
const PUNCTUATION = /[!-/:-@[-`{-~]/g;
const SNOWFLAKE = /^[1-9][0-9]{16,19}$/;
const MAX_UNIX_SECONDS = 8_640_000_000_000;

/**
 * Returns text of users for a message on the chat platform: on one line, cut to `max` characters, and with a backslash
 * before each punctuation mark, so that it formats, links and mentions nothing.
 */
export function escapeText(text: string, max: number): string {
  const visible = text.replaceAll(/\s+/gu, ' ').replaceAll(INVISIBLE, '').trim();
  // Of a longer text only the part is split into characters that can be shown.
  const characters = Array.from(visible.slice(0, 2 * max + 2));
  const cut = characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : characters.join('');
  return cut.replaceAll(PUNCTUATION, String.raw`\$&`);
}

/** Returns the mention of a chat account, shown as its name; undefined if the value is not a chat ID. */
export const mention = (id: unknown) => (isSnowflake(id) ? `<@${id}>` : undefined);

/** Returns the mention of a chat role, shown as its name; undefined if the value is not a role ID. */
export const roleMention = (id: unknown) => (isSnowflake(id) ? `<@&${id}>` : undefined);

/** Returns a time, shown in the reader's time zone; undefined if the value is not a time in Unix seconds. */
export const timeOf = (value: unknown) =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_UNIX_SECONDS
    ? `<t:${String(value)}:f>`
    : undefined;

const isSnowflake = (id: unknown): id is string => typeof id === 'string' && SNOWFLAKE.test(id);
