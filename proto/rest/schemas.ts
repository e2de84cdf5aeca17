import { z } from 'zod';
import { MAX_FAULTS, messageOf } from './messages.ts';

const LARGEST_SNOWFLAKE = '18446744073709551615';
const SNOWFLAKE = /^[1-9][0-9]{16,19}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const WRONG_UUID = 'must be a UUID';
const DIGITS = /^[1-9][0-9]{0,15}$/;

/** Whether a text is a chat ID: a snowflake that fits 64 bits. */
export function isSnowflake(text: string): boolean {
  return SNOWFLAKE.test(text) && (text.length < LARGEST_SNOWFLAKE.length || text <= LARGEST_SNOWFLAKE);
}

const snowflake = (what: string) =>
  z
    .string({ error: `must be ${what}: a string of 17 to 20 digits` })
    .refine(isSnowflake, { error: `must be ${what}: a string of 17 to 20 digits` })
    .meta({ pattern: SNOWFLAKE.source });

export const chatId = snowflake('a chat ID').meta({
  description: 'Chat account, a snowflake',
  example: '920000000000000001',
});
export const roleId = snowflake('a role ID').meta({
  description: 'Chat role, a snowflake',
  example: '910000000000000001',
});
export const guildId = snowflake('a guild ID').meta({
  description: 'Guild, a snowflake',
  example: '900000000000000001',
});

/** A number that names something; accepted as a number or as a string of digits (Luau numbers are doubles). */
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
      // Says it more exactly than what can be derived from the union and its transform.
      .meta({
        type: ['integer', 'string'],
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        pattern: DIGITS.source,
      })
  );
}

/** Always answered as a number. */
export const gameId = numberId('a game ID').meta({
  description: 'Game account: a whole number, or its digits as a string',
  example: 7001,
});

export const placeId = numberId('a place ID').meta({
  description: 'Place of a game: a whole number, or its digits as a string',
  example: 4001,
});

/** A game ID as answered. */
export const gameIdOut = z.int().min(1).meta({ description: 'Game account', example: 7001 });

/** A UUID that we have made. */
export const uuid = z
  .string({ error: WRONG_UUID })
  .refine((value) => UUID.test(value), { error: WRONG_UUID })
  .transform((value) => value.toLowerCase())
  .pipe(z.string())
  .meta({ type: 'string', format: 'uuid', example: '6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60' });

/** A UUID as answered. */
export const uuidOut = z.string().meta({ format: 'uuid', example: '6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60' });

/** Seconds since 1970. */
export const timestamp = z.int().min(0).meta({ description: 'Unix seconds', example: 1790000000 });

/** Seconds since 1970 in a query string. */
export const timestampQuery = z
  .string()
  .refine((value) => /^[0-9]{1,11}$/.test(value), { error: 'must be Unix seconds' })
  .transform(Number)
  .pipe(z.number())
  .meta({ type: 'integer', minimum: 0, maximum: 99_999_999_999, description: 'Unix seconds', example: 1790000000 });

/** A field that may be left out; null reads as left out, since some callers can't leave a field out. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
// oxlint-disable-next-line no-control-regex
const CONTROL_BUT_BREAKS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/** Text of `min` to `max` Unicode characters without control characters; `lines` allows line breaks and tabs. */
export function text(min: number, max: number, options: { lines?: boolean } = {}) {
  const { control, error } = forbiddenCharacters(options);
  return z
    .string({ error: 'must be a string' })
    .refine((value) => value.isWellFormed() && !control.test(value), { error })
    .refine(...lengthBetween(min, max))
    .meta({ minLength: min, maxLength: max });
}

/** Any character but white space and what is not shown, such as a zero-width space. */
const VISIBLE = /[^\p{Z}\p{C}\s]/u;

/** Like `text`, without the white space around it; its length is that of what is left. */
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
    control: lines ? CONTROL_BUT_BREAKS : CONTROL,
    error: 'must not hold control characters or broken Unicode',
  };
}

/** Counts Unicode characters. */
function lengthBetween(min: number, max: number) {
  const isWithin = (value: string) => {
    const count = characters(value, max + 1);
    return count >= min && count <= max;
  };
  return [isWithin, { error: `must have ${min} to ${max} characters` }] as const;
}

/** Unicode characters of a text, counted up to `enough`. */
function characters(value: string, enough: number): number {
  let count = 0;
  for (const _ of value) if (++count >= enough) break;
  return count;
}

/** The most IDs in one batch (specification, section 8). */
export const BATCH_LIMIT = 25;

/** The items of a list are checked only when it is at most this many times too long. */
const CHECKED_TIMES = 4;

/**
 * Up to `max` of the same thing, called `what` in the message. Items are checked one after the other until there are
 * MAX_FAULTS faults, so that a small request cannot cost much time or get a response far longer than itself. zod's own
 * array would check every item. The items of a list that is a little too long are checked too, so that the response
 * lists all faults at once.
 */
export function listOf<Schema extends z.ZodType>(item: Schema, max: number, what = '') {
  return (
    z
      .array(z.unknown(), { error: 'must be a list' })
      .transform((list, context): z.output<Schema>[] => {
        if (list.length > max) {
          context.addIssue({ code: 'custom', message: `must hold at most ${max}${what && ` ${what}`}` });
        }
        return list.length > max * CHECKED_TIMES ? [] : checkItems(item, list, context);
      })
      // A transform has no JSON Schema of its own.
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

/** Up to 25 of the same thing. */
export function batch<Schema extends z.ZodType>(item: Schema) {
  return listOf(item, BATCH_LIMIT, 'IDs');
}

/** Query parameters of every list. */
export const page = {
  limit: z
    .string()
    .refine((value) => /^(?:[1-9][0-9]?|100)$/.test(value), { error: 'must be a whole number from 1 to 100' })
    .transform(Number)
    .pipe(z.number())
    .default(50)
    .meta({ type: 'integer', minimum: 1, maximum: 100, description: 'Rows a page; 50 when left out', example: 50 }),
  cursor: z
    .string()
    .max(512, { error: 'must have at most 512 characters' })
    .optional()
    .meta({ description: 'The `next_cursor` of the page before' }),
};

export const nextCursor = z.string().nullable().meta({
  description: 'Where the next page begins; null on the last one',
  example: null,
});

/**
 * Refuses an object in which not exactly one of the fields is given; told beside all its other faults.
 * `params` names the fields to whoever describes the schema.
 */
export function exactlyOneOf(...fields: string[]) {
  return [
    (value: unknown): boolean =>
      fields.filter((field) => (value as Record<string, unknown>)[field] != null).length === 1,
    { error: `must hold exactly one of ${fields.join(', ')}`, when: () => true, params: { exactlyOneOf: fields } },
  ] as const;
}
