import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { gatewayRoutes } from '#proto/rest/gateway.ts';
import type { Route } from '#proto/rest/route.ts';
import { announceDeprecation } from './deprecation.ts';

function headersFor(deprecated: Route['deprecated']) {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  announceDeprecation({ ...gatewayRoutes.whoami, deprecated }, response);
  return { ...response.getHeaders() };
}

test('a deprecated route announces since when, until when, and its replacement; other routes add nothing', () => {
  const headers = headersFor({ since: '2026-01-01', sunset: '2027-02-01', replacement: '/who' });
  expect(headers).toEqual({
    deprecation: '@1767225600',
    sunset: 'Mon, 01 Feb 2027 00:00:00 GMT',
    link: '</api/v1/who>; rel="successor-version"',
  });
  expect(headersFor(undefined)).toEqual({});
});
