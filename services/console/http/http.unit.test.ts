import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { forwardedHeaders, returnedHeaders } from '../forward/headers.ts';
import { CONSOLE_LIMITS, Windows } from '../limits/windows.ts';
import { cookie, readCookie, SESSION_COOKIE } from './cookies.ts';
import { csrfTokenOf } from './origin.ts';
import { securityHeaders } from './security-headers.ts';

const withHeaders = (headers: Record<string, string>) => ({ headers }) as unknown as IncomingMessage;
const TOKEN = 'a'.repeat(43);

test.each([
  [`${SESSION_COOKIE}=${TOKEN}`, TOKEN],
  [`other=1; ${SESSION_COOKIE}=${TOKEN}; more=2`, TOKEN],
  [`${SESSION_COOKIE}=${TOKEN}; ${SESSION_COOKIE}=${'b'.repeat(43)}`, undefined],
  [`x${SESSION_COOKIE}=${TOKEN}`, undefined],
  [`${SESSION_COOKIE}=short`, undefined],
  [`${SESSION_COOKIE}=${TOKEN}"`, undefined],
  ['', undefined],
])('the cookies %j have the session token %j', (header, token) => {
  expect(readCookie(withHeaders({ cookie: header }), SESSION_COOKIE)).toBe(token);
});

test('a cookie is never readable by scripts, nor sent over plain HTTP or with requests of other sites', () => {
  expect(cookie('__Host-x', 'y', 60)).toBe('__Host-x=y; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Lax');
});

test('a CSRF token belongs to one session and does not contain its token', () => {
  expect(csrfTokenOf(TOKEN)).toMatch(/^[\w-]{43}$/);
  expect(csrfTokenOf(TOKEN)).not.toBe(csrfTokenOf('b'.repeat(43)));
});

test('only listed headers are forwarded to services, and returned to browsers', () => {
  const sent = { 'x-guild-id': '1', 'content-type': 'application/json', 'idempotency-key': 'k' };
  const dropped = {
    cookie: 'c',
    authorization: 'a',
    'x-guild-principal': 'p',
    'x-internal-x': 'i',
    host: 'h',
    origin: 'o',
  };
  expect(forwardedHeaders(withHeaders({ ...sent, ...dropped, 'transfer-encoding': 'chunked' }))).toEqual(sent);
  const returned = { 'content-type': 'application/json', 'retry-after': '1' };
  const kept = { 'set-cookie': 's', server: 'x', 'access-control-allow-origin': '*', connection: 'close' };
  expect(returnedHeaders(withHeaders({ ...returned, ...kept }))).toEqual(Object.entries(returned).flat());
});

test('HSTS is only sent if the console is reached over HTTPS', () => {
  expect(securityHeaders('https://console.example')).toContain('strict-transport-security');
  expect(securityHeaders('http://127.0.0.1:8090')).not.toContain('strict-transport-security');
});

test('a window counts each subject alone, begins again after a minute, and stores a bounded number of subjects', () => {
  const clock = new ManualClock();
  const windows = new Windows(clock, 3);
  for (let count = 0; count < CONSOLE_LIMITS.sign_in; count++) expect(windows.count('sign_in', 'a')).toBeUndefined();
  expect(windows.count('sign_in', 'a')?.details).toMatchObject({ category: 'sign_in', limit: 20 });
  expect(windows.check('sign_in', 'a')?.code).toBe('RATE_LIMITED');
  expect(windows.count('sign_in', 'b')).toBeUndefined();
  expect(windows.count('sensitive', 'a')).toBeUndefined();
  clock.advance(60_000);
  expect(windows.count('sign_in', 'a')).toBeUndefined();
});
