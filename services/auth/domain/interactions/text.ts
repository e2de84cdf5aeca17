/** The chat platform rejects messages of more characters. */
export const MAX_MESSAGE = 2_000;

/** Returns a text that somebody has chosen so that the chat platform shows it as it is, without links and formats. */
export const plain = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').replaceAll(/[\\`*_~|<>[\]()#:@-]/g, String.raw`\$&`);

export const memberMention = (chatId: string): string => `<@${chatId}>`;
export const roleMention = (roleId: string): string => `<@&${roleId}>`;

/** A time, which the chat platform shows as the distance from now, such as `in 7 days`. */
export const relativeTime = (unixSeconds: number): string => `<t:${unixSeconds}:R>`;

/** Joins lines; if not all fit into a message, the last line says how many are left out. */
export function lines(all: readonly string[]): string {
  const text = all.join('\n');
  if (text.length <= MAX_MESSAGE) return text;
  const shown: string[] = [];
  let length = 0;
  for (const line of all) {
    length += line.length + 1;
    if (length > MAX_MESSAGE - 20) break;
    shown.push(line);
  }
  return [...shown, `… and ${all.length - shown.length} more`].join('\n').slice(0, MAX_MESSAGE);
}
