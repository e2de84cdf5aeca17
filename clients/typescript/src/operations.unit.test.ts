import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../../gateway/openapi/openapi.ts';
import { operationIdOf } from '../../../gateway/openapi/operation-id.ts';
import { ROUTES } from '../../../proto/rest/index.ts';
import { API_PREFIX } from '../../../proto/rest/route.ts';
import { PUBLIC_CODES } from '../../../services/kit/errors.ts';
import { GUILD, KEY } from '../fixture.ts';
import { operationsOf } from '../generator/operations.ts';
import { GuildData } from './guild-data.ts';
import * as functions from './operations.ts';
import { ERROR_CLASSES } from './operations-errors.ts';
import { OperationMethods } from './operations-methods.ts';

const LIST_SUFFIX = 'Pages';

/** The requests that a client sends, without a response. */
function recordingClient() {
  const sent: { method: string; url: URL; headers: Headers }[] = [];
  const guild = new GuildData({
    key: KEY,
    guildId: GUILD,
    baseUrl: 'https://data.example.com',
    maxAttempts: 1,
    fetch: (input, init) => {
      sent.push({ method: init?.method ?? '', url: new URL(input as string), headers: new Headers(init?.headers) });
      return Promise.reject(new Error('not sent'));
    },
  });
  return { guild, sent };
}

const isPages = (name: string) => name.endsWith(LIST_SUFFIX);
const isOperation = (name: string) => !isPages(name) && name !== 'constructor';
const wanted = [...ROUTES.map(operationIdOf), 'getHealth'].toSorted();

test('there is a function and a method for every route, and no other', () => {
  expect(Object.keys(functions).filter(isOperation).toSorted()).toEqual(wanted);
  expect(Object.getOwnPropertyNames(OperationMethods.prototype).filter(isOperation).toSorted()).toEqual(wanted);
});

test('there are pages of exactly the routes with a cursor', () => {
  const lists = ROUTES.filter(({ query }) => query && 'cursor' in query.shape);
  const names = lists.map((route) => operationIdOf(route) + LIST_SUFFIX).toSorted();
  expect(Object.keys(functions).filter(isPages).toSorted()).toEqual(names);
  expect(Object.getOwnPropertyNames(OperationMethods.prototype).filter(isPages).toSorted()).toEqual(names);
});

test.each(ROUTES.map((route) => [operationIdOf(route), route] as const))(
  '%s sends the method and path of its route, and an idempotency key exactly if it writes',
  async (name, route) => {
    const { guild, sent } = recordingClient();
    const parameters = [...route.path.matchAll(/:(\w+)/g)].map(([, parameter]) => String(parameter));
    const args = Object.fromEntries(parameters.map((parameter) => [parameter, `the-${parameter}`]));
    const call = guild[name as 'whoami'] as unknown as (args: object) => Promise<unknown> | AsyncGenerator;
    const result = call.call(guild, { ...args, guildId: GUILD });
    await expect('next' in result ? result.next() : result).rejects.toThrow('not sent');
    const path =
      API_PREFIX +
      route.path.replaceAll(/:(\w+)/g, (_, parameter) => (parameter === 'guildId' ? GUILD : `the-${parameter}`));
    expect(sent.map(({ method, url }) => [method, url.pathname])).toEqual([[route.method, path]]);
    expect(sent[0]?.headers.has('idempotency-key')).toBe(route.writes);
    expect(sent[0]?.headers.has('x-guild-id')).toBe(route.guild === 'header' || route.guild === 'key');
  },
);

test('there is an error class for every error code', () => {
  expect(Object.keys(ERROR_CLASSES).toSorted()).toEqual(PUBLIC_CODES.toSorted());
});

test('the generated descriptions have the arguments and the limits of the document', () => {
  const document = openApiDocument(ROUTES, { version: '1.0.0', serverUrl: 'https://data.example.com' });
  const text = readFileSync(join(import.meta.dirname, 'operations.ts'), 'utf8');
  const types = readFileSync(join(import.meta.dirname, 'operations-types.ts'), 'utf8');
  // A quick check of names; continuous integration generates everything again and compares it exactly.
  for (const { name, args, limit, hasArgs } of operationsOf(document)) {
    const declaration = `export type ${name.charAt(0).toUpperCase()}${name.slice(1)}Args =`;
    expect([name, types.includes(declaration)]).toEqual([name, hasArgs]);
    for (const field of Object.keys(args.properties ?? {})) expect(types).toMatch(new RegExp(`^ +${field}\\??:`, 'm'));
    const stated = limit ? `category: '${limit.category}', requests: ${limit.requests}` : 'writes: false';
    expect(text.slice(text.indexOf(`name: '${name}'`)).slice(0, 400)).toContain(stated);
  }
});
