import { expect, test } from 'vitest';
import { asClientCall } from './client-call.ts';

const GUILD = '900000000000000001';
const call = { method: 'GET', key: `service_${GUILD}_secret`, headers: {}, body: undefined };
const ban = { game_id: 7001, reason: 'Spams the chat' };

test('a well-formed request is a call of the client, with its arguments and headers', () => {
  const headers = { 'X-Guild-ID': GUILD, 'X-Request-ID': 'r-1' };
  expect(asClientCall({ ...call, headers, path: '/events?after=3&types=ban.*' })).toEqual({
    operation: 'listEvents',
    key: call.key,
    guildId: GUILD,
    args: { after: '3', types: 'ban.*' },
    headers: { 'x-request-id': 'r-1' },
  });
  const path = `/moderation/${GUILD}/game/ban`;
  expect(asClientCall({ ...call, method: 'POST', path, body: ban })).toMatchObject({
    operation: 'banPlayer',
    guildId: GUILD,
    args: ban,
  });
  expect(asClientCall({ ...call, path: '/whoami' })).toMatchObject({ operation: 'whoami', guildId: GUILD });
});

test.each([
  ['no key', { path: '/whoami', key: undefined }],
  ['a key in another header', { path: '/whoami', headers: { Authorization: 'Bearer x' } }],
  ['another method', { path: '/whoami', method: 'HEAD' }],
  ['a path that does not exist', { path: '/whoami/' }],
  ['another spelling of a path', { path: `/guilds/${GUILD}/members/%39${'2'.repeat(17)}` }],
  ['a parameter twice', { path: `/guilds/${GUILD}/members?limit=1&limit=1` }],
  ['an unknown parameter', { path: `/guilds/${GUILD}/members?limits=1` }],
  ['a parameter out of range', { path: `/guilds/${GUILD}/members?limit=101` }],
  ['no guild', { path: '/lookup/game/7' }],
  ['a wrong ID', { path: '/lookup/game/x', headers: { 'x-guild-id': GUILD } }],
  ['a body that is text', { path: '/reverse', method: 'POST', body: '{}' }],
  ['a body with a fault', { path: '/reverse', method: 'POST', body: { guild_id: GUILD } }],
  ['no body', { path: '/reverse', method: 'POST' }],
  ['a body that the route does not have', { path: '/whoami', body: {} }],
])('a request with %s stays plain', (_, request) => {
  expect(asClientCall({ ...call, ...request })).toBeUndefined();
});
