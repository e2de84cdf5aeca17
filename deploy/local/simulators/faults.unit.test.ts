import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Simulators } from './main.ts';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';

const member = '/api/v10/guilds/900000000000000001/members/920000000000000004';
const role = `${member}/roles/910000000000000003`;
const headers = { authorization: 'Bot token' };
let simulators: Simulators;

beforeEach(async () => {
  simulators = await startSimulators();
});
afterEach(() => simulators.stop());

const tell = (fault: object, base = simulators.game) => call(`${base}/__faults`, { method: 'POST', body: fault });

test('a fault with a status responds with it `times` times, then no more', async () => {
  expect((await tell({ match: '/v1/groups', status: 503, delay_ms: 0, times: 2 })).status).toBe(201);
  const statuses = [];
  for (let index = 0; index < 3; index += 1) statuses.push((await call(`${simulators.game}/v1/groups/501`)).status);
  expect(statuses).toEqual([503, 503, 200]);
});

test('a fault without times lasts until the faults are deleted, and other paths are not touched', async () => {
  await tell({ match: '/v1/groups', status: 500 });
  for (let index = 0; index < 3; index += 1) expect((await call(`${simulators.game}/v1/groups/501`)).status).toBe(500);
  expect((await call(`${simulators.game}/v1/users/7001`)).status).toBe(200);
  expect((await call(`${simulators.game}/__faults`)).body).toMatchObject({
    faults: [{ match: '/v1/groups', used: 3 }],
  });
  expect((await call(`${simulators.game}/__faults`, { method: 'DELETE' })).status).toBe(204);
  expect((await call(`${simulators.game}/v1/groups/501`)).status).toBe(200);
});

test('of several faults that match, the first one that was added is used', async () => {
  await tell({ match: '/v1', status: 502, times: 1 });
  await tell({ match: '/v1/groups', status: 504 });
  expect((await call(`${simulators.game}/v1/groups/501`)).status).toBe(502);
  expect((await call(`${simulators.game}/v1/groups/501`)).status).toBe(504);
});

test('no fault touches the paths that begin with /__', async () => {
  await tell({ match: '', status: 500 });
  await tell({ match: '/__', status: 500 });
  expect((await call(`${simulators.game}/__world`)).status).toBe(200);
  expect((await call(`${simulators.game}/v1/users/7001`)).status).toBe(500);
});

test('errors come in the form of the host that the path belongs to, 429 with Retry-After', async () => {
  for (const base of [simulators.chat, simulators.game]) await tell({ match: '', status: 429, retry_after: 2.5 }, base);
  const chat = await call(simulators.chat + member, { headers });
  expect(chat.body).toEqual({ message: 'You are being rate limited.', retry_after: 2.5, global: false });
  expect(chat.headers.get('retry-after')).toBe('3');
  const legacy = await call(`${simulators.game}/v1/groups/501`);
  expect(legacy.body).toEqual({ errors: [{ code: 0, message: 'Too many requests' }] });
  const cloud = await call(`${simulators.game}/cloud/v2/groups/501`);
  expect(cloud.body).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
});

test('a body of the fault takes the place of the platform’s own', async () => {
  await tell({ match: '/v1/users', body: { id: 'not a number' } });
  expect(await call(`${simulators.game}/v1/users/7001`)).toMatchObject({ status: 200, body: { id: 'not a number' } });
});

test('a reset cuts the connection before the call takes effect', async () => {
  await tell({ match: '/roles/', reset: true, times: 1 }, simulators.chat);
  await expect(call(simulators.chat + role, { method: 'PUT', headers })).rejects.toThrow('fetch failed');
  expect((await call(simulators.chat + member, { headers })).body).toMatchObject({ roles: [] });
});

test('a truncated answer breaks off in its body after the call took effect', async () => {
  await tell({ match: '/members/', truncate: true, times: 1 }, simulators.chat);
  const response = await fetch(simulators.chat + member, {
    method: 'PATCH',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{"nick":"Dima"}',
  });
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow('terminated');
  expect((await call(simulators.chat + member, { headers })).body).toMatchObject({ nick: 'Dima' });
});

test('a truncated answer without a body is a connection cut after the call took effect', async () => {
  await tell({ match: '/roles/', truncate: true, times: 1 }, simulators.chat);
  await expect(call(simulators.chat + role, { method: 'PUT', headers })).rejects.toThrow('fetch failed');
  expect((await call(simulators.chat + member, { headers })).body).toMatchObject({ roles: ['910000000000000003'] });
});

test('a broken answer is 200 with JSON that can’t be read', async () => {
  await tell({ match: '/v1/users', broken: true });
  const response = await fetch(`${simulators.game}/v1/users/7001`);
  expect(response.status).toBe(200);
  await expect(response.json()).rejects.toThrow(SyntaxError);
});

test('a fault with only a delay delays the normal response', async () => {
  await tell({ match: '/v1/users', delay_ms: 80 });
  const started = performance.now();
  expect((await call(`${simulators.game}/v1/users/7001`)).body).toMatchObject({ name: 'AdaBuilds' });
  expect(performance.now() - started).toBeGreaterThanOrEqual(79);
});

test('a fault that does nothing, or has an unknown field, is refused with the path of what is wrong', async () => {
  expect(await tell({ match: '/v1' })).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining('does nothing') },
  });
  const faulty = await tell({ match: 1, status: 900, kind: 'x' });
  expect(faulty.body).toMatchObject({ error: expect.stringMatching(/match: .*\n.*status: .*\n.*"kind"/) });
});

test('calls are counted by method and route, answers by status, until the counts are deleted', async () => {
  await tell({ match: '/920000000000000001', status: 500 }, simulators.chat);
  await call(simulators.chat + member, { headers });
  await call(simulators.chat + member.replace('004', '001'), { headers });
  await call(simulators.chat + role, { method: 'PUT', headers });
  await call(`${simulators.chat}/api/v9/gateway`, { headers });
  expect((await call(`${simulators.chat}/__calls`)).body).toEqual({
    calls: {
      'GET /api/v10/guilds/:guild/members/:user': 2,
      'PUT /api/v10/guilds/:guild/members/:user/roles/:role': 1,
      'GET (unknown)': 1,
    },
    statuses: { 200: 1, 204: 1, 404: 1, 500: 1 },
  });
  await call(`${simulators.chat}/__calls`, { method: 'DELETE' });
  expect((await call(`${simulators.chat}/__calls`)).body).toEqual({ calls: {}, statuses: {} });
});
