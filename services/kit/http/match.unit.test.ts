import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineRoutes, type Method, route } from '#proto/rest/route.ts';
import { ApiError } from '../errors.ts';
import { type Match, Matcher } from './match.ts';

const row = (method: Method, path: string, guild: 'path' | 'key' = 'key') =>
  route({
    method,
    path,
    scope: null,
    category: null,
    guild,
    data: z.object({}),
    status: 200,
    message: '',
    summary: '',
    writes: false,
  });

const routes = defineRoutes('test', {
  list: row('GET', '/things'),
  make: row('POST', '/things'),
  one: row('GET', '/things/:id'),
  fixed: row('GET', '/things/newest'),
  ofGuild: row('GET', '/guilds/:guildId/things/:id', 'path'),
});
const matcher = new Matcher(Object.values(routes), '/api/v1');
const name = (method: string, path: string) => matched(method, path).route.name;

function matched(method: string, path: string): Match {
  const match = matcher.match(method, path);
  if (match instanceof ApiError) throw match;
  return match;
}

function rejection(method: string, path: string): ApiError {
  const match = matcher.match(method, path);
  if (match instanceof ApiError) return match;
  throw new Error('matched');
}

describe('finding the route of a request', () => {
  it('prefers fixed paths to parameters, and serves HEAD like GET', () => {
    expect(name('GET', '/api/v1/things')).toBe('list');
    expect(name('POST', '/api/v1/things')).toBe('make');
    expect(name('GET', '/api/v1/things/newest')).toBe('fixed');
    expect(name('GET', '/api/v1/things/7')).toBe('one');
    expect(name('HEAD', '/api/v1/things/7')).toBe('one');
  });

  it('returns the decoded guild of the path', () => {
    expect(matched('GET', '/api/v1/guilds/90/things/7').params.guildId).toBe('90');
    expect(matched('GET', '/api/v1/guilds/%39%30/things/7').params.guildId).toBe('90');
    expect(matched('GET', '/api/v1/things/7').params.guildId).toBeUndefined();
  });

  it.each([
    '/api/v1/things/',
    '/api/v1//things',
    '/api/v1/Things',
    '/API/v1/things',
    '/api/v1/things/7/',
    '/api/v1/things/7/8',
    '/api/v1/guilds//things/7',
    '/api/v1',
    '/',
    '/things',
    '/api/v1/constructor',
    '/api/v1/__proto__',
  ])('finds no route for %s', (path) => {
    expect(rejection('GET', path).code).toBe('ROUTE_NOT_FOUND');
  });

  it.each(['PUT', 'OPTIONS', 'DELETE', 'TRACE', 'PURGE'])(
    'rejects %s on a known path and lists the supported methods',
    (method) => {
      const error = rejection(method, '/api/v1/things');
      expect(error.code).toBe('METHOD_NOT_ALLOWED');
      expect(error.details).toEqual({ allow: 'GET, HEAD, POST' });
    },
  );
});
