import { expect, test } from 'vitest';
import { COMMAND_TYPES } from '#proto/rest/activity/shapes.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { buildSite } from '../docs/site.ts';
import { branchesOf } from './alternatives.ts';
import { type JsonSchema, resolveRef } from './document.ts';
import { openApiDocument } from './openapi.ts';

const document = openApiDocument(ROUTES, { version: '1.0.0', serverUrl: 'https://api.example.com' });
const operation = document.paths['/api/v1/guilds/{guildId}/commands']?.post;
const body = resolveRef<JsonSchema>(
  document.components,
  operation?.requestBody?.content['application/json'].schema ?? {},
);
const variants = body.allOf?.flatMap(({ oneOf = [] }) => oneOf) ?? [];
const typesOf = ({ properties }: JsonSchema) => [properties?.type?.enum ?? properties?.type?.const].flat();

test('a command is a union in which each type occurs once, with its payload and whether it needs a target', () => {
  const types = variants.flatMap(typesOf);
  expect([types.length, new Set(types)]).toEqual([COMMAND_TYPES.length, new Set(COMMAND_TYPES)]);
  const withTarget = variants.filter(({ required }) => required?.includes('target')).flatMap(typesOf);
  expect(new Set(withTarget)).toEqual(new Set(['ban', 'kick', 'message', 'mute', 'unban', 'unmute']));
  const message = variants.find((variant) => typesOf(variant).includes('message'));
  expect(resolveRef(document.components, message?.properties?.payload ?? {})).toMatchObject({
    required: ['text'],
    properties: { text: { maxLength: 1_000 } },
  });
});

test('a command is for exactly one of all servers, a server and a place', () => {
  const branches = branchesOf(body).map((branch) => resolveRef<JsonSchema>(document.components, branch));
  expect(branches.map(({ required }) => required)).toEqual([['all'], ['server_id'], ['place_id']]);
});

test('the documentation page has a table of the payload of each type', () => {
  const { pages } = buildSite({ document, routes: ROUTES });
  const page = [pages.find(({ path }) => path === '/docs/reference/commands')?.content].flat()[0]?.text;
  for (const title of ['kick, unban, unmute', 'ban, mute', 'message', 'broadcast', 'shutdown', 'custom']) {
    expect(page).toContain(`<h3>Body if type is ${title}</h3>`);
  }
  expect(page).toContain('<code>payload.delay_seconds</code>');
});
