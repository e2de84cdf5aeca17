import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROUTES } from '#proto/rest/index.ts';
import type { Route } from '#proto/rest/route.ts';
import { callerArguments, functionName } from '../generator/operation-module.ts';
import { generateOperations, OPERATIONS } from '../generator/operations.ts';
import type { HttpRequest } from './engine/http.ts';
import { BASE_URL, GUILD, SOURCE, startPlace, success } from './fixture.ts';
import { luauFiles } from './luau-files.ts';

test('the generated files are current: otherwise run npm run clients', () => {
  const generated = generateOperations();
  const present = luauFiles(join(SOURCE, 'Operations')).map((path): [string, string] => {
    const text = readFileSync(join(SOURCE, 'Operations', path), 'utf8');
    return [`Operations/${path}`, text];
  });
  expect(Object.fromEntries(present)).toEqual(Object.fromEntries(generated));
});

test('there is a function for every route except the stream of events', async () => {
  const place = await startPlace();
  const names = await place.run<string[]>(`
    local names = {}
    for name in guild.api :: any do
      table.insert(names, name)
    end
    return names`);
  const expected = ROUTES.filter(({ eventStream }) => !eventStream).map(functionName);
  expect(names.toSorted()).toEqual(expected.toSorted());
  expect(ROUTES.length - names.length).toBe(1);
});

/** A value for each argument: its own name, so that a swapped one is noticed. */
const sampleArguments = (route: Route) =>
  Object.fromEntries(callerArguments(route).map(({ name }) => [name, `my ${name}`]));

test('each function sends the request that its route describes', async () => {
  const requests: HttpRequest[] = [];
  const place = await startPlace({
    respond: (request) => {
      requests.push(request);
      return success({});
    },
  });
  const calls = OPERATIONS.map((route) => ({ name: functionName(route), args: sampleArguments(route) }));
  await place.run(`
    for _, call in HttpService:JSONDecode([==[${JSON.stringify(calls)}]==]) do
      local result = (guild.api :: any)[call.name](call.args)
      if not result.ok then
        error(call.name .. ": " .. result.message)
      end
    end`);
  expect(requests.map(describe)).toEqual(OPERATIONS.map(expected));
});

function describe({ method, url, headers, body }: HttpRequest) {
  const { pathname, searchParams } = new URL(url);
  return {
    method,
    path: pathname,
    query: Object.fromEntries(searchParams),
    body: body === undefined ? undefined : (JSON.parse(String(body)) as unknown),
    guild: headers['X-Guild-ID'],
    hasKey: headers['Idempotency-Key'] !== undefined,
    type: headers['Content-Type'],
  };
}

function expected(route: Route) {
  const args = Object.entries(sampleArguments(route));
  const inPath = new Set([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name));
  const rest = Object.fromEntries(args.filter(([name]) => !inPath.has(name)));
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) =>
    name === 'guildId' ? GUILD : encodeURIComponent(`my ${name}`),
  );
  const guild = route.guild === 'body' ? { guild_id: GUILD } : {};
  return {
    method: route.method,
    path: `${new URL(BASE_URL).pathname}api/v1${path}`,
    query: route.body ? {} : rest,
    body: route.body ? { ...rest, ...guild } : undefined,
    guild: route.guild === 'header' ? GUILD : undefined,
    hasKey: route.writes,
    type: route.body ? 'application/json' : undefined,
  };
}

test('no route takes both a body and a query, and no two parameters have one name', () => {
  expect(OPERATIONS.filter(({ body, query }) => body && query).map(functionName)).toEqual([]);
  const repeated = OPERATIONS.filter((route) => {
    const names = callerArguments(route).map(({ name }) => name);
    return new Set(names).size !== names.length;
  });
  expect(repeated.map(functionName)).toEqual([]);
});
