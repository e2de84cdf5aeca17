import { z } from 'zod';
import { MAX_FAULTS, messageOf } from './messages.ts';

const MAX_SNOWFLAKE = '18446744073709551615';
const SNOWFLAKE = /^[1-9][0-9]{16,19}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const WRONG_UUID = 'must be a UUID';
const DIGITS = /^[1-9][0-9]{0,15}$/;

/** True if the text is a snowflake: a chat, role or guild ID that fits into 64 bits. */
export function isSnowflake(text: string): boolean {
  return SNOWFLAKE.test(text) && (text.length < MAX_SNOWFLAKE.length || text <= MAX_SNOWFLAKE);
}

const snowflake = (what: string) =>
  z
    .string({ error: `must be ${what}: a string of 17 to 20 digits` })
    .refine(isSnowflake, { error: `must be ${what}: a string of 17 to 20 digits` })
    .meta({ pattern: SNOWFLAKE.source });

export const chatId = snowflake('a chat ID').meta({
  id: 'ChatId',
  description: 'Chat account ID (snowflake)',
  example: '920000000000000001',
});
export const roleId = snowflake('a role ID').meta({
  id: 'RoleId',
  description: 'Chat role ID (snowflake)',
  example: '910000000000000001',
});
export const guildId = snowflake('a guild ID').meta({
  id: 'GuildId',
  description: 'Guild ID (snowflake)',
  example: '900000000000000001',
});

export const channelId = snowflake('a channel ID');

/** A numeric ID. Accepted as a number or as a string of digits, because Luau numbers are doubles. */
export function numberId(what: string) {
  const wrong = `must be ${what}: a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;
  return (
    z
      .union([z.number(), z.string()], { error: wrong })
      .transform((value, context) => {
        const id = typeof value === 'number' || DIGITS.test(value) ? Number(value) : Number.NaN;
        if (Number.isSafeInteger(id) && id > 0) return id;
        context.addIssue({ code: 'custom', message: wrong });
        return z.NEVER;
      })
      .pipe(z.number())
      // More exact than the schema that zod derives from the union and its transform.
      .meta({
        type: ['integer', 'string'],
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        pattern: DIGITS.source,
      })
  );
}

/** A game account ID in a request. Responses use `gameIdOut`. */
export const gameId = numberId('a game ID').meta({
  id: 'GameIdInput',
  description: 'Game account ID: an integer, or a string of digits',
  example: 7001,
});

export const placeId = numberId('a place ID').meta({
  description: 'Place ID of a game: an integer, or a string of digits',
  example: 40001,
});

/** A game account ID in a response, always a number. */
export const gameIdOut = z.int().min(1).meta({ description: 'Game account ID', example: 7001 });

/** A UUID in a request that the API created. */
export const uuid = z
  .string({ error: WRONG_UUID })
  .refine((value) => UUID.test(value), { error: WRONG_UUID })
  .transform((value) => value.toLowerCase())
  .pipe(z.string())
  .meta({ type: 'string', format: 'uuid', example: '6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60' });

/** A UUID in a response. */
export const uuidOut = z.string().meta({ format: 'uuid', example: '6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60' });

/** A time in a request or response body, in Unix seconds. */
export const timestamp = z.int().min(0).meta({ id: 'Timestamp', description: 'Unix seconds', example: 1790000000 });

/** Unix seconds in a query string. */
export const timestampQuery = z
  .string()
  .refine((value) => /^[0-9]{1,11}$/.test(value), { error: 'must be Unix seconds' })
  .transform(Number)
  .pipe(z.number())
  .meta({ type: 'integer', minimum: 0, maximum: 99_999_999_999, description: 'Unix seconds', example: 1790000000 });

/** The query parameters of a list that is ordered by time. Sessions count by their start. */
export const timeRange = {
  from: timestampQuery.optional().meta({ description: 'At or after this time, in Unix seconds' }),
  to: timestampQuery.optional().meta({ description: 'At or before this time, in Unix seconds' }),
};

/** An optional field. null counts as omitted, because some clients cannot omit a field. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
// oxlint-disable-next-line no-control-regex
const CONTROL_EXCEPT_LINES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/** Text of `min` to `max` Unicode characters without control characters; `lines` allows line breaks and tabs. */
export function text(min: number, max: number, options: { lines?: boolean } = {}) {
  const { control, error } = forbiddenCharacters(options);
  return z
    .string({ error: 'must be a string' })
    .refine((value) => value.isWellFormed() && !control.test(value), { error })
    .refine(...lengthBetween(min, max))
    .meta({ minLength: min, maxLength: max });
}

/** Any visible character: no white space and nothing invisible such as a zero-width space. */
const VISIBLE = /[^\p{Z}\p{C}\s]/u;

/** Like `text`, but trimmed. The limits apply to the trimmed text, which must not be blank. */
export function trimmedText(min: number, max: number, options: { lines?: boolean } = {}) {
  const { control, error } = forbiddenCharacters(options);
  return z
    .string({ error: 'must be a string' })
    .refine((value) => value.isWellFormed() && !control.test(value), { error })
    .trim()
    .refine((value) => value === '' || VISIBLE.test(value), { error: 'must not be blank' })
    .refine(...lengthBetween(min, max))
    .meta({ minLength: min, maxLength: max });
}

function forbiddenCharacters({ lines = false }: { lines?: boolean }) {
  return {
    control: lines ? CONTROL_EXCEPT_LINES : CONTROL,
    error: 'must not hold control characters or broken Unicode',
  };
}

/** Limits the number of Unicode characters. */
function lengthBetween(min: number, max: number) {
  const isWithin = (value: string) => {
    const count = countCharacters(value, max + 1);
    return count >= min && count <= max;
  };
  return [isWithin, { error: `must have ${min} to ${max} characters` }] as const;
}

/** The number of Unicode characters of a text. Stops counting at `limit`. */
function countCharacters(value: string, limit: number): number {
  let count = 0;
  for (const _ of value) if (++count >= limit) break;
  return count;
}

/** The maximum number of IDs in one batch (specification, section 8). */
export const BATCH_LIMIT = 25;

/** The maximum number of seconds for which a poll waits for commands or events. */
export const MAX_WAIT_SECONDS = 25;

/** Items are not validated if the list is longer than this many times its maximum. */
const MAX_CHECKED_FACTOR = 4;

/**
 * A list of at most `max` items, which the error message calls `what`. Items are validated one after the other until
 * there are MAX_FAULTS faults, so that a small request cannot cost much time or get a response far longer than itself.
 * zod's own array would validate every item. The items of a list that is slightly too long are validated too, so that
 * the response lists all faults together.
 */
export function listOf<Schema extends z.ZodType>(item: Schema, max: number, what = '') {
  return (
    z
      .array(z.unknown(), { error: 'must be a list' })
      .transform((list, context): z.output<Schema>[] => {
        if (list.length > max) {
          context.addIssue({ code: 'custom', message: `must hold at most ${max}${what && ` ${what}`}` });
        }
        return list.length > max * MAX_CHECKED_FACTOR ? [] : checkItems(item, list, context);
      })
      // zod cannot derive a JSON Schema from a transform.
      .meta({ type: 'array', items: item, maxItems: max })
  );
}

function checkItems<Schema extends z.ZodType>(item: Schema, list: readonly unknown[], context: z.RefinementCtx) {
  const checked: z.output<Schema>[] = [];
  for (const [index, value] of list.entries()) {
    const { data, error } = item.safeParse(value, { error: messageOf });
    if (error) {
      for (const issue of error.issues) {
        context.issues.push({ ...issue, input: value, path: [index, ...issue.path] } as z.core.$ZodRawIssue);
      }
      if (context.issues.length >= MAX_FAULTS) break;
    } else checked.push(data);
  }
  return checked;
}

/** A list of up to 25 IDs. */
export function batch<Schema extends z.ZodType>(item: Schema) {
  return listOf(item, BATCH_LIMIT, 'IDs');
}

/** A whole number in a query string. */
export function numberQuery(minimum: number, maximum: number) {
  const error = `must be a whole number from ${minimum} to ${maximum}`;
  return z
    .string()
    .refine((value) => /^[0-9]{1,16}$/.test(value) && Number(value) >= minimum && Number(value) <= maximum, { error })
    .transform(Number)
    .pipe(z.number())
    .meta({ type: 'integer', minimum, maximum });
}

/** The page parameters of every list. */
export const page = {
  limit: z
    .string()
    .refine((value) => /^(?:[1-9][0-9]?|100)$/.test(value), { error: 'must be a whole number from 1 to 100' })
    .transform(Number)
    .pipe(z.number())
    .default(50)
    .meta({ type: 'integer', minimum: 1, maximum: 100, description: 'Rows per page; 50 if omitted', example: 50 }),
  cursor: z
    .string()
    .max(512, { error: 'must have at most 512 characters' })
    .optional()
    .meta({ description: 'The `next_cursor` of the previous page' }),
};

export const nextCursor = z.string().nullable().meta({
  id: 'NextCursor',
  description: 'Pass it as `cursor` to get the next page; null on the last page',
  example: null,
});

/**
 * Rejects an object that does not have exactly one of the fields. The fault is reported together with all others of the
 * object. `params` passes the field names to the OpenAPI generator.
 */
export function exactlyOneOf(...fields: string[]) {
  return [
    (value: unknown): boolean =>
      fields.filter((field) => (value as Record<string, unknown>)[field] != null).length === 1,
    { error: `must hold exactly one of ${fields.join(', ')}`, when: () => true, params: { exactlyOneOf: fields } },
  ] as const;
}

/** A body that names a guild and one account, by the ID of its chat account or of its game account. */
export const accountInGuild = z
  .object({ guild_id: guildId, chat_id: optional(chatId), game_id: optional(gameId) })
  .refine(...exactlyOneOf('chat_id', 'game_id'))
  .meta({ id: 'AccountRequest', description: 'A guild and one account, by either of its IDs' });
