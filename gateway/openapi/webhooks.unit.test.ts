import { expect, test } from 'vitest';
import { EVENT_TYPE_NAMES } from '#proto/rest/events/index.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { type JsonSchema, resolveRef } from './document.ts';
import { openApiDocument } from './openapi.ts';

const document = openApiDocument(ROUTES, { version: '1.2.3', serverUrl: 'https://api.example.com' });
const { components } = document;
const webhook = document.webhooks['event']?.post;

test('a webhook receives a union of all event types, each with its own schema, that `type` tells apart', () => {
  expect(webhook?.requestBody?.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Event' });
  const { oneOf = [], discriminator } = components.schemas['Event'] ?? {};
  const variants = oneOf.map(({ $ref = '' }) => resolveRef<JsonSchema>(components, { $ref }));
  expect(variants.map(({ properties }) => properties?.['type']?.const)).toEqual(EVENT_TYPE_NAMES);
  const mapping = EVENT_TYPE_NAMES.map((type, index) => [type, oneOf[index]?.$ref]);
  expect(discriminator).toEqual({ propertyName: 'type', mapping: Object.fromEntries(mapping) });
});

test('a webhook has the headers and the signature of Standard Webhooks', () => {
  const names = (webhook?.parameters ?? []).map((parameter) => ('name' in parameter ? parameter.name : ''));
  expect(names).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature']);
  expect(webhook?.description).toContain('HMAC-SHA-256');
});
