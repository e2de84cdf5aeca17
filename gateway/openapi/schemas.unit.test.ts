import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ROUTES } from '#proto/rest/index.ts';
import { exactlyOneOf, optional, placeId } from '#proto/rest/schemas.ts';
import { type JsonSchema, mediaTypeOf, type Operation, resolveRef } from './document.ts';
import { objectsIn } from './fixture.ts';
import { toJsonSchema } from './json-schema.ts';
import { openApiDocument } from './openapi.ts';

const document = openApiDocument(ROUTES, { version: '1.2.3', serverUrl: 'https://api.example.com' });
const { components } = document;
const { schemas } = components;

/** The keywords of draft 2020-12 that the document may use, each with the type of its value. */
const draft202012: z.ZodType = z.lazy(() =>
  z.strictObject({
    $ref: z.string().startsWith('#/components/schemas/').optional(),
    type: z.union([typeName, z.array(typeName).min(2)]).optional(),
    description: z.string().min(1).optional(),
    examples: z.array(z.unknown()).min(1).optional(),
    const: z.unknown().optional(),
    enum: z.array(z.unknown()).min(1).optional(),
    properties: z.record(z.string(), draft202012).optional(),
    required: z.array(z.string()).optional(),
    additionalProperties: z.union([z.boolean(), draft202012]).optional(),
    propertyNames: draft202012.optional(),
    items: draft202012.optional(),
    anyOf: z.array(draft202012).min(1).optional(),
    oneOf: z.array(draft202012).min(1).optional(),
    allOf: z.array(draft202012).min(1).optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minLength: z.int().optional(),
    maxLength: z.int().optional(),
    minItems: z.int().optional(),
    maxItems: z.int().optional(),
    pattern: z.string().refine(isPattern).optional(),
    format: z.string().optional(),
  }),
);

const typeName = z.enum(['string', 'integer', 'number', 'boolean', 'object', 'array', 'null']);

function isPattern(text: string): boolean {
  try {
    return RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

describe('every schema', () => {
  const inPlace = objectsIn([document.paths, components]).flatMap(({ schema }) => (schema ? [schema] : []));

  test('is JSON Schema, draft 2020-12, without zod properties', () => {
    expect(inPlace.length).toBeGreaterThan(ROUTES.length);
    const all = [...inPlace, ...Object.values(components.schemas)];
    expect(all.filter((schema) => !draft202012.safeParse(schema).success)).toEqual([]);
  });

  test('requires exactly one field of exactlyOneOf, which must not be null', () => {
    const body = z.object({ a: optional(placeId), b: optional(z.string()) }).refine(...exactlyOneOf('a', 'b'));
    const schema = toJsonSchema(body, 'input', {});
    const [first, second] = schema.oneOf ?? [];
    expect(first).toMatchObject({
      required: ['a'],
      properties: { a: { type: ['integer', 'string'] }, b: { type: 'null' } },
    });
    expect(second).toMatchObject({ required: ['b'], properties: { a: { type: 'null' }, b: { type: 'string' } } });
    expect(schema.properties).toEqual({});
  });

  test('accepts a place ID as a number or a string of digits, and null for an optional field', () => {
    const { properties } = toJsonSchema(z.object({ id: optional(placeId) }), 'input', {});
    expect(properties?.id).toMatchObject({
      type: ['integer', 'string', 'null'],
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      pattern: '^[1-9][0-9]{0,15}$',
    });
  });

  test('allows further fields in responses', () => {
    const body = z.object({ inside: z.object({ a: z.string() }) });
    expect(JSON.stringify(toJsonSchema(body, 'output', {}))).not.toContain('additionalProperties');
  });

  test('has a unique ID, otherwise the conversion throws', () => {
    const shared = {};
    toJsonSchema(z.object({ a: z.string().meta({ id: 'OpenApiTestSame' }) }), 'output', shared);
    const other = z.object({ a: z.number().meta({ id: 'OpenApiTestSame2' }) });
    Object.assign(shared, { OpenApiTestSame2: { type: 'string' } });
    expect(() => toJsonSchema(other, 'output', shared)).toThrow('OpenApiTestSame2');
  });
});

/** Returns the schema of the body of an operation. */
function bodyOf(operationId: string): JsonSchema {
  const operations = Object.values(document.paths).flatMap((item) => Object.values<Operation>(item));
  const body = operations.find((operation) => operation.operationId === operationId)?.requestBody;
  if (!body) throw new Error(`${operationId} has no body`);
  return resolveRef<JsonSchema>(components, mediaTypeOf(body.content).schema);
}

describe('the schema of a request', () => {
  test('of a sync or lookup has either the chat ID or the game ID', () => {
    for (const name of ['syncRoles', 'reverseLookup', 'unlinkAccount']) {
      expect(bodyOf(name).oneOf).toMatchObject([
        { required: ['chat_id'], properties: { game_id: { type: 'null' } } },
        { required: ['game_id'], properties: { chat_id: { type: 'null' } } },
      ]);
    }
  });

  test('for a binding requires the fields of its type', () => {
    const { allOf = [] } = bodyOf('addBinding');
    const [condition] = allOf.map((part) => resolveRef<JsonSchema>(components, part));
    const branches = (condition?.oneOf ?? []).map(({ properties, required }) => [
      properties?.['binding_type']?.const,
      required,
    ]);
    expect(branches).toContainEqual(['gamepass', ['binding_type', 'game_gamepass_id']]);
    expect(branches).toContainEqual(['account_age', ['binding_type', 'account_age_platform', 'account_age_min_days']]);
    expect(branches).toContainEqual(['unverified', ['binding_type']]);
    expect(branches).toHaveLength(7);
  });

  test('for a decision has a place ID exactly for the scope place, and durations with known units', () => {
    expect(schemas['PunishmentRequest']?.allOf?.[0]?.anyOf).toMatchObject([
      { properties: { scope: { type: 'null' }, place_id: { type: 'null' } } },
      { required: ['scope'], properties: { scope: { const: 'global' }, place_id: { type: 'null' } } },
      { required: ['scope', 'place_id'], properties: { scope: { const: 'place' } } },
    ]);
    const pattern = RegExp(schemas['Duration']?.anyOf?.[1]?.pattern ?? '^$');
    expect(['7d', '30s', '3600', 'permanent'].filter((text) => !pattern.test(text))).toEqual([]);
    expect(['2 weeks', '2w', '-1d'].filter((text) => pattern.test(text))).toEqual([]);
  });

  test('response or list of choices is named', () => {
    const names = 'SyncResult SyncJob Role PlayerStatus StaffPermissions BindingType CommandType ErrorCode ApiError';
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(names.split(' ')));
    expect(schemas['BindingType']?.enum).toContain('account_age');
  });
});
