import { type SessionInfo, WebSocketManager, WebSocketShardEvents } from '@discordjs/ws';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { GUILD_MEMBERS, GUILDS } from './chat/gateway/session.ts';
import type { Simulators } from './main.ts';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';

const guild = '900000000000000001';
const userId = (last: number) => `9200000000000000${last}`;

let simulators: Simulators;
let manager: WebSocketManager;
let session: SessionInfo | null;
let events: string[];

const readAddress = async () =>
  (await call(`${simulators.chat}/api/v10/gateway/bot`, { headers: { authorization: 'Bot token' } })).body;

/** A client of the chat platform's usual library. Its session is kept in `session`. */
function createManager(): WebSocketManager {
  const created = new WebSocketManager({
    token: 'token',
    intents: GUILDS | GUILD_MEMBERS,
    // The library needs its REST client for the address alone.
    rest: { get: readAddress } as never,
    // The library would wait for 5 seconds before it identifies a second time.
    buildIdentifyThrottler: () => ({ waitForIdentify: () => Promise.resolve() }),
    retrieveSessionInfo: () => session,
    updateSessionInfo: (_shard, changed) => {
      session = changed;
    },
  });
  created.on(WebSocketShardEvents.Dispatch, ({ t, d }) => {
    const type: string = t;
    const user = type.startsWith('GUILD_MEMBER') ? ` ${(d as { user: { id: string } }).user.id}` : '';
    events.push(type + user);
  });
  created.on(WebSocketShardEvents.Error, () => undefined);
  return created;
}

const control = (path: string, body: object) => call(simulators.chat + path, { method: 'POST', body });
const join = (last: number) => control('/__members', { guild, user: userId(last), action: 'join' });
const received = (...names: string[]) =>
  vi.waitUntil(() => names.every((name) => events.includes(name)), { timeout: 20_000 });

beforeEach(async () => {
  session = null;
  events = [];
  simulators = await startSimulators({ limitScale: 1000 });
  manager = createManager();
});
afterEach(async () => {
  await manager.destroy();
  await simulators.stop();
});

test('the usual client library connects, receives events, and resumes after its connection was cut', async () => {
  await manager.connect();
  await join(20);
  await received('READY', 'GUILD_CREATE', `GUILD_MEMBER_ADD ${userId(20)}`);
  await control('/__gateway', { action: 'cut' });
  await join(21);
  await received('RESUMED', `GUILD_MEMBER_ADD ${userId(21)}`);
  expect(events.filter((event) => event === 'READY').length).toBe(1);
});

test('a new client of the library resumes the session that one before it stored', async () => {
  await manager.connect();
  await received('GUILD_CREATE');
  const stored = session;
  await manager.destroy({ code: 4200 });
  await join(20);
  session = stored;
  manager = createManager();
  await manager.connect();
  await received('RESUMED', `GUILD_MEMBER_ADD ${userId(20)}`);
  expect(events.filter((event) => event === 'READY').length).toBe(1);
});

test('the library notices a silent connection by its heartbeats and resumes', async () => {
  simulators.world.data.chat.gateway.heartbeat_interval_ms = 200;
  await manager.connect();
  await received('GUILD_CREATE');
  await control('/__gateway', { action: 'silence' });
  await join(20);
  await received('RESUMED', `GUILD_MEMBER_ADD ${userId(20)}`);
  expect(events.filter((event) => event === 'READY').length).toBe(1);
});

test('after a session that the platform forgot, the library identifies again', async () => {
  await manager.connect();
  await received('GUILD_CREATE');
  await control('/__gateway', { action: 'forget' });
  await vi.waitUntil(() => events.filter((event) => event === 'READY').length === 2, { timeout: 20_000 });
  expect(events).not.toContain('RESUMED');
});
