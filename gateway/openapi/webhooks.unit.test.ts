import { expect, test } from 'vitest';
import { EVENT_TYPE_NAMES } from '#proto/rest/events/index.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { branchesOf } from './alternatives.ts';
import { openApiDocument } from './openapi.ts';

const document = openApiDocument(ROUTES, { version: '1.2.3', serverUrl: 'https://api.example.com' });
const { components } = document;
const webhook = document.webhooks['event']?.post;

test('a webhook receives a union of the events, in which each type has exactly one schema, that `type` tells apart', () => {
  expect(webhook?.requestBody?.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Event' });
  const variants = branchesOf(components.schemas['Event'] ?? {});
  const types = variants.map(({ properties }) => properties?.['type']?.enum ?? []);
  expect(types.flat()).toHaveLength(EVENT_TYPE_NAMES.length);
  expect(new Set(types.flat())).toEqual(new Set(EVENT_TYPE_NAMES));
  for (const { required } of variants) expect(required).toEqual(['type', 'data']);
  expect(components.schemas['Event']?.required).toEqual(expect.arrayContaining(['id', 'guild_id', 'seq', 'source']));
});

test('a webhook has the headers and the signature of Standard Webhooks', () => {
  const names = (webhook?.parameters ?? []).map((parameter) => ('name' in parameter ? parameter.name : ''));
  expect(names).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature']);
  expect(webhook?.description).toContain('HMAC-SHA-256');
});
