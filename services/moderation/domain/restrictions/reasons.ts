const MAX_DISPLAY_REASON = 400;
const MAX_PRIVATE_REASON = 1_000;
/** The maximum length of the reason of a ban, in Unicode characters. */
const MAX_REASON = 400;
/** The platform rejects links in what it shows to the player. */
const LINK = /:\/\/|\bwww\.|\b[\w-]+\.(?:com|net|org|gg|io|dev|me|tv|xyz)\b/i;
const NEUTRAL_REASON = 'Banned from this game.';
const MARK = /\[guild-data ([0-9]{17,20}) ([0-9]{1,16}) ([0-9a-f]{8})\]$/;

/** Names a write in the private reason of a restriction, so that it can be told from a decision made on the platform. */
export interface WriteMark {
  guildId: string;
  /** The ban that the write mirrors, or that it lifts. */
  banId: number;
  /** The UUID of the write. */
  writeId: string;
}

/** Returns the first eight digits of a write's ID, which its mark contains. */
export const shortId = (writeId: string) => writeId.slice(0, 8);

/** Returns the private reason of a restriction: the reason of the ban, and the mark of the write. */
export function privateReason(reason: string, { guildId, banId, writeId }: WriteMark): string {
  const mark = `[guild-data ${guildId} ${banId} ${shortId(writeId)}]`;
  return `${cut(reason, MAX_PRIVATE_REASON - mark.length - 1)} ${mark}`.trimStart();
}

/** Reads the mark in the private reason of a restriction, with the first eight digits of the write's ID. */
export function readMark(reason: string): WriteMark | undefined {
  const [, guildId, banId, writeId] = MARK.exec(reason) ?? [];
  if (guildId === undefined || banId === undefined || writeId === undefined) return undefined;
  return { guildId, banId: Number(banId), writeId };
}

/** Returns what the platform shows to a banned player who tries to join. */
export const displayReason = (reason: string) => (LINK.test(reason) ? NEUTRAL_REASON : cut(reason, MAX_DISPLAY_REASON));

/** Returns the reason of a ban that is imported. */
export function importedReason(restriction: { displayReason: string; privateReason: string }): string {
  const own = restriction.privateReason.replace(MARK, '').trim();
  return cut(own || restriction.displayReason.trim() || 'Banned on the game platform', MAX_REASON);
}

/** Cuts a text to a number of Unicode characters. */
const cut = (text: string, length: number) => Array.from(text).slice(0, length).join('').trim();
