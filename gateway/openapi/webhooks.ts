import { accessOf, eventDescription, eventSchema, schemaNameOf } from '#proto/rest/events/event.ts';
import { EVENT_TYPE_NAMES, EVENT_TYPES, type EventType } from '#proto/rest/events/index.ts';
import { type Components, componentRef, type JsonSchema, type Parameter, type Webhook } from './document.ts';
import { toJsonSchema } from './json-schema.ts';

const header = (name: string, description: string, example: string): Parameter => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
});

/** The request that a webhook receives for each event, by the Standard Webhooks specification. */
export function webhookOperation(components: Components): Webhook {
  return {
    operationId: 'receiveEvent',
    summary: 'Receive an event',
    description:
      `Sent to each webhook of \`format: standard\` for each event of its types. Events are delivered at least
once, so remember \`webhook-id\`. Verify the signature before you trust the body: \`webhook-signature\` has one or more
signatures, separated by spaces, each \`v1,\` and the base64 of an HMAC-SHA-256 over \`<webhook-id>.<webhook-timestamp>.<body>\`
with the webhook's secret (the bytes after \`whsec_\`, base64). Reject timestamps that are more than five minutes old.`.replaceAll(
        '\n',
        ' ',
      ),
    tags: ['events'],
    security: [],
    parameters: [
      header('webhook-id', 'The ID of the event; the same for each attempt', '6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60'),
      header('webhook-timestamp', 'When the attempt was made, in Unix seconds', '1780000000'),
      header('webhook-signature', 'One or more signatures', 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='),
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: toJsonSchema(eventSchema, 'output', components.schemas) } },
    },
    responses: {
      '2XX': { description: 'The event was received' },
      '410': { description: 'Disables the webhook. After any other status the event is sent again later' },
    },
  };
}

/** The name of the schema with the fields that events of all types have. */
const ENVELOPE = 'EventEnvelope';

/**
 * Completes the union of events: the types whose `data` has the same schema share a schema, and the fields that all types
 * have in the same form are in the document only once. The values of `type` tell which schema applies.
 */
export function completeEvents(schemas: Record<string, JsonSchema>): void {
  const event = schemas['Event'];
  if (!event) return;
  const references: JsonSchema[] = [];
  const groups = Map.groupBy(EVENT_TYPE_NAMES, (type) => JSON.stringify(dataOf(schemas[schemaNameOf(type)])));
  for (const types of groups.values()) {
    const [first = {}] = types.map((type) => schemas[schemaNameOf(type)]);
    for (const type of types) delete schemas[schemaNameOf(type)];
    const { properties = {}, required = [] } = first;
    const { type: _, data = {}, ...common } = properties;
    // Every event requires what the envelope requires.
    schemas[ENVELOPE] ??= {
      type: 'object',
      properties: { ...common, type: { type: 'string' }, data: {} },
      required,
    };
    const { $ref } = componentRef('schemas', `EventWith${data.anyOf?.[0]?.$ref?.split('/').at(-1)}`);
    schemas[$ref.split('/').at(-1) ?? ''] = {
      description: describe(types),
      allOf: [componentRef('schemas', ENVELOPE)],
      // Without it generators take the data for optional.
      required: ['data'],
      properties: { type: { enum: types }, data },
    };
    references.push({ $ref });
  }
  event.oneOf = references;
}

/** Says when events of these types occur, and who may read them, which is the same for all if possible. */
function describe(types: readonly EventType[]): string {
  const lines = types.map((type) => `\`${type}\`: ${EVENT_TYPES[type].summary}.`);
  const access = new Set(types.map((type) => accessOf(EVENT_TYPES[type].scope)));
  const [same, ...others] = access;
  const [only, ...further] = types;
  if (only && further.length === 0) return eventDescription(only);
  if (others.length > 0) return types.map((type) => `\`${type}\`: ${eventDescription(type)}`).join('\n\n');
  return [...lines, same].join('\n\n');
}

/**
 * Puts the fields that all events have, and the schema of each type of events, into the union. The names of these schemas
 * say no more than the types, and each would be in the document twice.
 */
export function inlineEvents(schemas: Record<string, JsonSchema>): void {
  const { [ENVELOPE]: envelope, Event: event } = schemas;
  if (!envelope || !event?.oneOf) return;
  const variants = event.oneOf.map(({ $ref }) => takeOut(schemas, $ref?.split('/').at(-1) ?? ''));
  delete schemas[ENVELOPE];
  const { type: _, data: __, ...common } = envelope.properties ?? {};
  event.properties = common;
  event.required = envelope.required?.filter((name) => name in common);
  // Generators take a field for optional if the schema that has it does not require it.
  const types = variants.map(({ allOf: ___, ...variant }) => ({ ...variant, required: ['type', 'data'] }));
  delete event.oneOf;
  event.allOf = [{ anyOf: withErasure(types) }];
}

/** Makes the data of events of erased persons, which may replace that of every type, an alternative of its own. */
function withErasure(variants: JsonSchema[]): JsonSchema[] {
  const erased = variants.map((variant) => dataOf(variant).anyOf?.[1]).find((data) => data);
  if (!erased) return variants;
  for (const variant of variants) Object.assign(variant.properties ?? {}, { data: dataOf(variant).anyOf?.[0] });
  const properties = { type: { type: 'string' }, data: erased };
  return [...variants, { description: 'An event of any type', required: ['type', 'data'], properties }];
}

function takeOut(schemas: Record<string, JsonSchema>, name: string): JsonSchema {
  const schema = schemas[name] ?? {};
  delete schemas[name];
  return schema;
}

const dataOf = (event: JsonSchema | undefined): JsonSchema => event?.properties?.['data'] ?? {};
