import { isSnowflake } from '#proto/rest/schemas.ts';
import { INSTALLATION } from '../../store/audit.ts';

/**
 * The maximum size of a request in the audit, in bytes of JSON. For a larger request the audit contains only the
 * SHA-256 digest.
 */
const MAX_DETAILS_BYTES = 16 * 1024;

/** Request fields that are excluded from the details of an audit entry, because the entry contains them elsewhere. */
const EXCLUDED_FIELDS = ['guildId', 'actor', 'note'];

/** The guild ID that the moderation service uses for rows that apply to all guilds. */
const EVERY_GUILD = '0';

const MAX_GUILD_ID_LENGTH = 40;

/** The description of a request to another service in the audit. */
export interface RequestDetails {
  /** The guild that the request is about; INSTALLATION if it is not about a guild. */
  guildId: string;
  details: Record<string, unknown>;
}

/**
 * Returns the guild and the fields of a decoded request for the audit. If the request names a person at any depth, the
 * result has `game_id` and `chat_id` at the top level, so that the entry is found when the data of that person is
 * erased.
 */
export function describeRequest(request: unknown, digest: string): RequestDetails {
  const fields = Object.entries(request as Record<string, unknown>);
  const included = fields.filter(([name, value]) => !EXCLUDED_FIELDS.includes(name) && value !== undefined);
  const details = Object.fromEntries(included.map(([name, value]) => [snakeCase(name), toJson(value)]));
  const person = personIn(request);
  const isTooLarge = Buffer.byteLength(JSON.stringify(details)) > MAX_DETAILS_BYTES;
  const { guildId: given } = request as { guildId?: unknown };
  const requested = typeof given === 'string' ? given : '';
  // The called service will reject an invalid guild ID. The audit entry is written before, so it belongs to the
  // installation.
  const guildId = isSnowflake(requested) ? requested : INSTALLATION;
  if (guildId !== requested && requested !== EVERY_GUILD) {
    details['guild_id'] = requested.slice(0, MAX_GUILD_ID_LENGTH);
  }
  return { guildId, details: isTooLarge ? { ...person, sha256: digest } : { ...details, ...person } };
}

/** Returns the account IDs of the person that a request names, at any depth. */
function personIn(value: unknown): { game_id?: number; chat_id?: string } {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return {};
  const found = Object.values(value).map(personIn);
  const { gameId, chatId, $case, value: chosen } = value as Record<string, unknown>;
  // A protobuf oneof is decoded as `{ $case: 'gameId', value: 7001 }`.
  const game = gameId ?? ($case === 'gameId' ? chosen : undefined);
  const chat = chatId ?? ($case === 'chatId' ? chosen : undefined);
  return Object.assign(
    {},
    ...found,
    typeof game === 'number' && Number.isSafeInteger(game) ? { game_id: game } : {},
    typeof chat === 'string' && chat !== '' ? { chat_id: chat } : {},
  );
}

/** Converts a decoded protobuf field to JSON with snake_case names; bytes become base64. */
function toJson(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  // NUL characters are removed, because PostgreSQL rejects them in JSON.
  if (typeof value === 'string') return value.replaceAll('\0', '');
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== 'object' || value === null) return value;
  const { $case, value: chosen, ...fields } = value as Record<string, unknown>;
  if (typeof $case === 'string') return { [snakeCase($case)]: toJson(chosen) };
  const entries = Object.entries(fields).filter(([, field]) => field !== undefined);
  return Object.fromEntries(entries.map(([name, field]) => [snakeCase(name), toJson(field)]));
}

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
