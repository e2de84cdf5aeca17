import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ROUTES } from '#proto/rest/index.ts';
import { CATEGORIES } from '#proto/rest/limits.ts';
import { API_PREFIX, type Route } from '#proto/rest/route.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import { filesBelow, SERVICES } from './sources.ts';

const SNAKE_CASE = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;
const SEGMENT = /^(?:[a-z0-9]+(?:-[a-z0-9]+)*|:[a-z][A-Za-z]*)$/;

const segmentsOf = ({ path }: Route) => path.split('/').slice(1);
const parametersOf = (route: Route) =>
  segmentsOf(route)
    .filter((part) => part.startsWith(':'))
    .map((part) => part.slice(1));
const called = (route: Route) => `${route.method} ${route.path}`;
const titles = ROUTES.map((route) => [called(route), route] as const);

interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  required?: string[];
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
}

/** The JSON schema of a schema. A schema with a name is a reference to its definition, which is returned instead. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $ref, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' }) as JsonSchema;
  return { ...rest, ...rest.$defs?.[$ref?.split('/').at(-1) ?? ''] };
}

/** The names of all fields of a schema, at any depth. */
function fieldNames(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = Object.keys((schema as JsonSchema).properties ?? {});
  return [...own, ...Object.values(schema).flatMap(fieldNames)];
}

test('the response that ends a long poll early fits the schema of its route, and the wait is in the query', () => {
  const routes = ROUTES.filter(({ longPoll }) => longPoll);
  expect(routes.length).toBeGreaterThan(0);
  for (const { query } of routes) expect(Object.keys(query?.shape ?? {})).toContain('wait');
  for (const { longPoll, data } of routes.filter((route) => route.longPoll?.whenEnded)) {
    expect(z.strictObject(data.shape).safeParse(longPoll?.whenEnded).error).toBeUndefined();
  }
});

test('every file of proto/rest with routes is part of the route table', async () => {
  const inTable = new Set<unknown>(ROUTES);
  for (const path of filesBelow('proto/rest', /^[^/.]+\.ts$/)) {
    const module = (await import(`../../proto/rest/${basename(path, '.ts')}.ts`)) as Record<string, unknown>;
    const tables = Object.entries(module).filter(([name]) => name.endsWith('Routes') && name !== 'defineRoutes');
    expect(tables.flatMap(([, table]) => Object.values(table as object)).filter((row) => !inTable.has(row))).toEqual(
      [],
    );
  }
  expect(ROUTES.length).toBeGreaterThan(0);
});

test('names are unique, and so are method and path', () => {
  expect(new Set(ROUTES.map(({ name }) => name)).size).toBe(ROUTES.length);
  expect(new Set(ROUTES.map(called)).size).toBe(ROUTES.length);
});

test('no request matches two routes', () => {
  const fits = (one: Route, other: Route) => {
    const [left, right] = [segmentsOf(one), segmentsOf(other)];
    const same = (part: string, index: number) =>
      part === right[index] || part.startsWith(':') || right[index]?.startsWith(':');
    return one.method === other.method && left.length === right.length && left.every(same);
  };
  const pairs = ROUTES.flatMap((one, index) => ROUTES.slice(index + 1).map((other) => [one, other] as const));
  expect(pairs.filter(([one, other]) => fits(one, other)).map((pair) => pair.map(called))).toEqual([]);
});

test('every route belongs to the gateway or to a service, and every service with REST routes has a handler file', () => {
  const owners = new Set(ROUTES.map(({ service }) => service));
  const known = ['gateway', 'auth', 'lookup', 'bindings', 'moderation', 'members', 'activity', 'events'];
  expect([...owners].filter((name) => !known.includes(name))).toEqual([]);
  const built = SERVICES.filter((name) => owners.has(name));
  expect(built.filter((name) => filesBelow(`services/${name}`, /^http(?:\.ts$|\/)/).length === 0)).toEqual([]);
});

test.each(titles)(
  '%s: the path is strict, below the prefix, and its parameters are those of its schema',
  (_title, route) => {
    expect(route.path.startsWith('/')).toBe(true);
    expect(route.path.startsWith(API_PREFIX)).toBe(false);
    expect(segmentsOf(route).filter((part) => !SEGMENT.test(part))).toEqual([]);
    expect(Object.keys(route.params?.shape ?? {})).toEqual(parametersOf(route));
  },
);

test.each(titles)('%s: scope and category exist', (_title, route) => {
  expect([null, ...SCOPES]).toContain(route.scope);
  expect([null, ...Object.keys(CATEGORIES)]).toContain(route.category);
});

test.each(titles)('%s: the guild is given in exactly one place, which the schemas include', (_title, route) => {
  const allowed = route.method === 'GET' ? ['path', 'header', 'key'] : ['path', 'body', 'key'];
  expect(allowed).toContain(route.guild);
  expect(parametersOf(route).includes('guildId')).toBe(route.guild === 'path');
  const required = route.body ? (jsonSchema(route.body, 'input').required ?? []) : [];
  expect(required.includes('guild_id')).toBe(route.guild === 'body');
});

test.each(titles)('%s: a GET has no body and changes nothing', (_title, route) => {
  const isGet = route.method === 'GET';
  expect(isGet && (route.body !== undefined || route.writes || route.status !== 200)).toBe(false);
  // PUT, PATCH and DELETE exist to change something.
  expect(['PUT', 'PATCH', 'DELETE'].includes(route.method) && !route.writes).toBe(false);
});

test.each(titles)('%s: fields of query, body and response are in snake case', (_title, route) => {
  const schemas = [route.query, route.body].filter((schema) => schema !== undefined);
  const names = [...schemas.map((schema) => jsonSchema(schema, 'input')), jsonSchema(route.data, 'output')].flatMap(
    fieldNames,
  );
  expect(names.filter((name) => !SNAKE_CASE.test(name))).toEqual([]);
});

test.each(titles)('%s: it is described without the names of the platforms', (_title, route) => {
  expect([route.summary, route.message].every((text) => /^[A-Z]/.test(text))).toBe(true);
  const text = JSON.stringify([
    route.path,
    route.name,
    route.summary,
    route.message,
    fieldNames(jsonSchema(route.data, 'output')),
  ]);
  expect(text).not.toMatch(/discord|roblox/i);
});

test.each(titles)(
  '%s: a deprecated route has a replacement and at least a year until its sunset',
  (_title, { deprecated }) => {
    const { since = '2000-01-01', sunset = '2001-01-01', replacement = '/' } = deprecated ?? {};
    expect([since, sunset].every((date) => /^\d{4}-\d{2}-\d{2}$/.test(date))).toBe(true);
    expect(Date.parse(sunset) - Date.parse(since)).toBeGreaterThanOrEqual(365 * 86_400_000);
    expect(replacement.startsWith('/')).toBe(true);
  },
);
