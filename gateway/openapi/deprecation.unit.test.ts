import { expect, test } from 'vitest';
import { z } from 'zod';
import { API_PREFIX, defineRoutes, route } from '#proto/rest/route.ts';
import { type OpenApiResponse, type Operation, resolveRef } from './document.ts';
import { openApiDocument } from './openapi.ts';

test('a deprecated route has its dates, its replacement and the deprecation headers in the document', () => {
  const { old } = defineRoutes('gateway', {
    old: route({
      method: 'GET',
      path: '/old',
      scope: null,
      category: null,
      guild: 'key',
      data: z.object({}),
      status: 200,
      message: 'ok',
      summary: 'Old',
      writes: false,
      deprecated: { since: '2030-01-01', sunset: '2031-01-01', replacement: '/api/v1/new' },
    }),
  });
  const document = openApiDocument([old], { version: '1.2.3', serverUrl: 'https://api.example.com' });
  const operation = document.paths[`${API_PREFIX}/old`]?.get as Operation;
  expect(operation.deprecated).toBe(true);
  expect(operation.description).toMatch(/2030-01-01.*2031-01-01.*\/api\/v1\/new/);
  const response = resolveRef<OpenApiResponse>(document.components, operation.responses[200] as OpenApiResponse);
  expect(Object.keys(response.headers ?? {})).toEqual(expect.arrayContaining(['Deprecation', 'Sunset', 'Link']));
});
