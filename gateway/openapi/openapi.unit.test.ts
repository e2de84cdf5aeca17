import { describe, expect, test } from 'vitest';
import { ROUTES } from '#proto/rest/index.ts';
import { CATEGORIES } from '#proto/rest/limits.ts';
import { API_PREFIX, PLATFORM_FAILED, type Route } from '#proto/rest/route.ts';
import {
  type Example,
  mediaTypeOf,
  type OpenApiResponse,
  type Operation,
  type Parameter,
  resolveRef,
} from './document.ts';
import { apiError, detailsOf } from './error-schemas.ts';
import { DEFAULT_ERRORS } from './errors.ts';
import { exampleOf } from './examples.ts';
import { objectsIn } from './fixture.ts';
import { openApiDocument } from './openapi.ts';
import { operationIdOf } from './operation-id.ts';

const options = { version: '1.2.3', serverUrl: 'https://api.example.com' };
const document = openApiDocument(ROUTES, options);
const { components } = document;

const allOperations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries<Operation>(item).map(([method, operation]) => ({ method, path, operation })),
);

function operationOf(row: Route, of = document): Operation {
  const path = API_PREFIX + row.path.replaceAll(/:(\w+)/g, '{$1}');
  const operation = of.paths[path]?.[row.method.toLowerCase() as 'get'];
  if (!operation) throw new Error(`${row.method} ${path} is missing`);
  return operation;
}

function parametersOf(operation: Operation, of = document): Parameter[] {
  return (operation.parameters ?? []).map((parameter) => resolveRef<Parameter>(of.components, parameter));
}

function responseOf(operation: Operation, status: number | string, of = document): OpenApiResponse {
  const response = operation.responses[status];
  if (!response) throw new Error(`${operation.operationId} has no ${status}`);
  return resolveRef<OpenApiResponse>(of.components, response);
}

describe('the document', () => {
  test('contains every route of the table, /healthz, and nothing else', () => {
    const expected = ROUTES.map((row) => `${row.method} ${API_PREFIX}${row.path.replaceAll(/:(\w+)/g, '{$1}')}`);
    const found = allOperations.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(found.toSorted()).toEqual([...expected, 'GET /healthz'].toSorted());
  });

  test('has unique operation IDs: those of the rows, otherwise their names', () => {
    const names = allOperations.map(({ operation }) => operation.operationId);
    expect(names.toSorted()).toEqual([...ROUTES.map(operationIdOf), 'getHealth'].toSorted());
    expect(new Set(names).size).toBe(names.length);
  });

  test('is smaller than 200 KB', () => {
    expect(Buffer.byteLength(JSON.stringify(document))).toBeLessThan(200_000);
  });

  test('has one response for each set of errors, whose `details` have the fields of their code', () => {
    for (const operation of allOperations.map((found) => found.operation)) {
      const errors = Object.entries(operation.responses).filter(([status]) => !(Number(status) < 400));
      for (const [, response] of errors) expect(response).toHaveProperty('$ref');
    }
    const { RateLimitedDetails, MissingScopeDetails } = components.schemas;
    expect(RateLimitedDetails?.required).toEqual(expect.arrayContaining(['code', 'retryAfter']));
    expect(MissingScopeDetails?.required).toEqual(['code', 'required_scope']);
  });

  test('is plain JSON without undefined properties', () => {
    expect(JSON.parse(JSON.stringify(document))).toStrictEqual(document);
  });

  test('has a component for every reference, and no unused component', () => {
    const references = objectsIn(document).flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []));
    for (const $ref of references) expect(resolveRef(components, { $ref })).toBeTypeOf('object');
    for (const kind of ['schemas', 'responses', 'parameters', 'headers', 'examples'] as const) {
      const names = Object.keys(components[kind]).map((name) => `#/components/${kind}/${name}`);
      expect(names.filter((name) => !references.includes(name))).toEqual([]);
    }
  });

  test('has the version, the server URL and the general rules', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d$/);
    expect(document.info.version).toBe('1.2.3');
    expect(document.servers).toEqual([{ url: 'https://api.example.com' }]);
    expect(document.info.description).toMatch(/details\.code.*X-Request-Id.*next_cursor.*Idempotency-Replayed/s);
    expect(document.info.description).toContain('METHOD_NOT_ALLOWED');
  });

  test('accepts a key in each of three headers, and needs none for /healthz', () => {
    expect(document.security.map((choice) => Object.keys(choice))).toEqual(
      Object.keys(components.securitySchemes).map((name) => [name]),
    );
    expect(components.securitySchemes).toMatchObject({
      ApiKeyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      AuthorizationApiKey: { type: 'apiKey', in: 'header', name: 'Authorization' },
      AuthorizationBearer: { type: 'http', scheme: 'bearer' },
    });
    expect(document.paths['/healthz']?.get?.security).toEqual([]);
  });

  test('tags each operation with its service, and describes each tag', () => {
    const tags = new Set(allOperations.flatMap(({ operation }) => operation.tags));
    expect(document.tags.map(({ name }) => name).toSorted()).toEqual([...tags].toSorted());
    for (const { name, description } of document.tags) expect(description).not.toBe(name);
  });
});

describe.each(ROUTES.map((row) => [row.name, row] as const))('%s', (_, row) => {
  const operation = operationOf(row);
  const parameters = parametersOf(operation);
  const named = (place: Parameter['in']) => parameters.filter((parameter) => parameter.in === place);

  test('declares its path, query and header parameters', () => {
    expect(named('path').map(({ name }) => `:${name}`)).toEqual(row.path.match(/:\w+/g) ?? []);
    expect(named('path').every(({ required }) => required)).toBe(true);
    expect(named('query').map(({ name }) => name)).toEqual(Object.keys(row.query?.shape ?? {}));
    const guild = named('header').find(({ name }) => name === 'X-Guild-ID');
    expect(guild && guild.required === true).toBe(row.guild === 'header' ? true : undefined);
    expect(named('header').some(({ name }) => name === 'Idempotency-Key')).toBe(row.writes);
    expect(parameters.filter(({ description }) => description === '')).toEqual([]);
  });

  test('has the scope and the rate limit of its route', () => {
    expect(operation['x-required-scope']).toBe(row.scope ?? undefined);
    const category = row.category && CATEGORIES[row.category];
    expect(operation['x-rate-limit']).toBe(row.category ?? undefined);
    expect(document['x-rate-limits'][row.category ?? '']).toEqual(
      category ? { limit: category.limit, window: 60, subject: category.per } : undefined,
    );
  });

  test('has examples of path, query and body that match its schemas', () => {
    const [path, query] = [named('path'), named('query')].map((given) =>
      Object.fromEntries(
        given.flatMap(({ name, example }) => (example === undefined ? [] : [[name, `${example as string | number}`]])),
      ),
    );
    expect(row.params?.safeParse(path).error).toBeUndefined();
    expect(row.query?.safeParse(query).error).toBeUndefined();
    expect(row.body?.safeParse(operation.requestBody?.content['application/json'].example).error).toBeUndefined();
    expect(operation.requestBody === undefined).toBe(row.body === undefined);
  });

  const successes: [number, string][] = [[row.status, row.message]];
  if (row.repeatedMessage) successes.unshift([200, row.repeatedMessage]);

  test('has an example of each success, in the envelope, that matches its schema', () => {
    for (const [status, message] of successes) {
      const { content, description } = responseOf(operation, status);
      expect(description).toBe(message);
      const { example, schema } = mediaTypeOf(content);
      const [type, of, sample] = row.eventStream
        ? ['text/event-stream', row.eventStream.event, eventIn(String(example))]
        : ['application/json', row.data, exampleOf(schema.properties?.['data'] ?? {}, components)];
      expect(Object.keys(content)).toEqual([type]);
      expect(of.safeParse(sample).error).toBeUndefined();
    }
    const documented = Object.keys(operation.responses).filter((status) => Number(status) < 400);
    expect(documented).toEqual(successes.map(([status]) => String(status)));
  });

  const rejections = Object.keys(operation.responses).filter((status) => !(Number(status) < 400));
  const examplesOf = (status: string) =>
    Object.values(mediaTypeOf(responseOf(operation, status).content).examples ?? {}).map((example) =>
      resolveRef<Example>(components, example),
    );
  const codesOf = (status: string) =>
    new Set(examplesOf(status).map(({ value }) => apiError.parse(value).details.code));

  test('has the codes, the meaning, advice and an example in the envelope for every error', () => {
    for (const status of rejections) {
      expect(examplesOf(status).length).toBeGreaterThan(0);
      for (const { summary, description, value } of examplesOf(status)) {
        const { code, message, details } = apiError.parse(value);
        expect((summary ?? message) && description).toBeTruthy();
        expect(status === 'default' ? 'default' : String(code)).toBe(status);
        expect(detailsOf(details.code).safeParse(details).error).toBeUndefined();
        expect(JSON.stringify(responseOf(operation, status).content)).toContain(`"${details.code}"`);
      }
    }
  });

  test('says which requests with a 403 are counted, and has the headers of a 429', () => {
    expect(responseOf(operation, 'default').description).toContain('only if the cause is `guild_id` in the body');
    expect(Object.keys(responseOf(operation, 'default').headers ?? {})).toEqual(
      expect.arrayContaining(['Retry-After', 'X-RateLimit-Limit', 'X-RateLimit-Reset']),
    );
  });

  test('documents the errors of its route and the general ones, and no others', () => {
    const expected = new Set([
      ...DEFAULT_ERRORS,
      ...(row.writes ? ['CONFLICT'] : []),
      ...Object.keys(row.errors ?? {}),
    ]);
    expect(new Set(rejections.flatMap((status) => [...codesOf(status)]))).toEqual(expected);
    expect(codesOf('default')).toEqual(new Set(DEFAULT_ERRORS));
    for (const meaning of Object.values(row.errors ?? {})) {
      // The response that all routes share says it.
      if (meaning === PLATFORM_FAILED) continue;
      expect(JSON.stringify(operation.responses)).toContain(JSON.stringify(meaning).slice(1, -1));
    }
  });
});

test('every route that checks a target on a platform documents PLATFORM_ERROR', () => {
  const checking = ROUTES.filter(({ errors }) => errors?.INVALID_TARGET !== undefined);
  expect(checking.filter(({ errors }) => errors?.PLATFORM_ERROR === undefined).map(({ name }) => name)).toEqual([]);
});

/** The event in the example of a stream. */
const eventIn = (stream: string): unknown => JSON.parse(/^data: (.*)$/m.exec(stream)?.[1] ?? '');
