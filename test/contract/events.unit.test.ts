import { expect, test } from 'vitest';
import { z } from 'zod';
import { EVENT_TYPES, type EventType } from '#proto/rest/events/index.ts';
import { chatId, gameIdOut } from '#proto/rest/schemas.ts';

interface JsonSchema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
}

/** Names of fields with the ID of a user, in the singular or plural. */
const NAMES = { chat: /(?:^|_)(?:chat|member|user)_ids?$/, game: /(?:^|_)(?:game|player)_ids?$/ };
/** Fields of IDs with a similar schema that contain no account. */
const NO_ACCOUNTS = ['place_id', 'universe_id'];

type Kind = keyof typeof NAMES;
interface Field {
  path: string;
  kind: Kind;
}

const described = { chat: chatId.meta(), game: gameIdOut.meta() };

/** Returns the fields of an event's data that name accounts, by their name or by the description of account IDs. */
function accountsIn(schema: JsonSchema, root: JsonSchema, path = ''): Field[] {
  if (schema.$ref !== undefined) {
    return accountsIn(root.$defs?.[schema.$ref.replace('#/$defs/', '')] ?? {}, root, path);
  }
  const name = path.split('.').at(-1) ?? '';
  const kinds = (['chat', 'game'] as const).filter(
    (kind) =>
      !NO_ACCOUNTS.includes(name) && (NAMES[kind].test(name) || schema.description === described[kind]?.description),
  );
  const parts = [...(schema.anyOf ?? []), ...(schema.allOf ?? []), ...(schema.items ? [schema.items] : [])];
  const fields = Object.entries(schema.properties ?? {}).flatMap(([field, value]) =>
    accountsIn(value, root, path === '' ? field : `${path}.${field}`),
  );
  return [
    ...kinds.map((kind) => ({ path, kind })),
    ...parts.flatMap((part) => accountsIn(part, root, path)),
    ...fields,
  ];
}

const schemaOf = (data: z.ZodType) => z.toJSONSchema(data, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
/** The event that tells readers whom to erase keeps the IDs. */
const KEPT: EventType = 'person.erased';
const types = (Object.keys(EVENT_TYPES) as EventType[]).filter((type) => type !== KEPT);

test.each(types)('every field of the data of %s that names an account is listed in persons', (type) => {
  const { data, persons } = EVENT_TYPES[type];
  const schema = schemaOf(data);
  const missing = accountsIn(schema, schema).filter(({ path, kind }) => !persons[kind]?.includes(path));
  expect(missing).toEqual([]);
});

test('accounts are found in nested objects and lists, with an unusual name, and where they may be null', () => {
  const data = z.object({
    game_id: gameIdOut.nullable(),
    target: z.object({ chat_id: z.string() }),
    members: z.array(z.object({ chat_id: chatId })),
    owner: chatId,
    player_ids: z.array(z.int()),
    place_id: gameIdOut.nullable().meta({ description: 'Place ID' }),
    game_group_id: z.int(),
    role_id: z.string(),
  });
  const schema = schemaOf(data);
  const found = new Set(accountsIn(schema, schema).map(({ path, kind }) => `${kind} ${path}`));
  expect([...found].toSorted()).toEqual([
    'chat members.chat_id',
    'chat owner',
    'chat target.chat_id',
    'game game_id',
    'game player_ids',
  ]);
});
