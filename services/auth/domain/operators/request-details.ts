import { INSTALLATION } from '../../store/audit.ts';

/** What the audit holds of a request at most, as JSON; of a larger one it holds the digest. */
const MAX_DETAILS_BYTES = 16 * 1024;

/** What is in an entry beside the request, or is empty. */
const LEFT_OUT = ['guildId', 'actor', 'note'];

/** What moderation calls the guild of entries for all guilds. */
const EVERY_GUILD = '0';

const GUILD_ID = /^[1-9][0-9]{16,19}$/;
const MAX_GUILD_ID = 40;

/** A request of another service, as the audit shows it. */
export interface RequestDetails {
  /** Empty where the request concerns no guild. */
  guildId: string;
  details: Record<string, unknown>;
}

/**
 * The guild that a decoded request names, and its fields. `game_id` and `chat_id`, where the request names a person, stand
 * at the top, so that the entry is found when that person is erased.
 */
export function describeRequest(request: unknown, digest: string): RequestDetails {
  const fields = request as Record<string, unknown>;
  const kept = Object.entries(fields).filter(([name, value]) => !LEFT_OUT.includes(name) && value !== undefined);
  const details = Object.fromEntries(kept.map(([name, value]) => [snakeCase(name), plain(value)]));
  const subject = subjectOf(fields);
  const isLarge = Buffer.byteLength(JSON.stringify(details)) > MAX_DETAILS_BYTES;
  const given = typeof fields['guildId'] === 'string' ? fields['guildId'] : '';
  // What is no guild is for the service to refuse; its entry is the installation's.
  const guildId = GUILD_ID.test(given) ? given : INSTALLATION;
  if (guildId !== given && given !== EVERY_GUILD) details['guild_id'] = given.slice(0, MAX_GUILD_ID);
  return { guildId, details: isLarge ? { ...subject, sha256: digest } : { ...details, ...subject } };
}

/** The person that a request names, wherever in it. */
function subjectOf(value: unknown): { game_id?: number; chat_id?: string } {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return {};
  const found = Object.values(value).map(subjectOf);
  const { gameId, chatId, $case, value: chosen } = value as Record<string, unknown>;
  // A oneof is `{ $case: 'gameId', value: 7001 }`.
  const game = gameId ?? ($case === 'gameId' ? chosen : undefined);
  const chat = chatId ?? ($case === 'chatId' ? chosen : undefined);
  return Object.assign(
    {},
    ...found,
    typeof game === 'number' && Number.isSafeInteger(game) ? { game_id: game } : {},
    typeof chat === 'string' && chat !== '' ? { chat_id: chat } : {},
  );
}

function plain(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  // PostgreSQL takes no NUL in JSON.
  if (typeof value === 'string') return value.replaceAll('\0', '');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const { $case, value: chosen, ...fields } = value as Record<string, unknown>;
  if (typeof $case === 'string') return { [snakeCase($case)]: plain(chosen) };
  const entries = Object.entries(fields).filter(([, field]) => field !== undefined);
  return Object.fromEntries(entries.map(([name, field]) => [snakeCase(name), plain(field)]));
}

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
