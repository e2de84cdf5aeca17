import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { MAX_PERSON_LOGS } from '#proto/rest/people.ts';
import { activityService } from '#services/activity/service.ts';
import { lookupService } from '#services/lookup/service.ts';
import { connect } from '#test/network/grpc.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { PATIENCE } from '#test/patience.ts';
import { callService, testEnvironment } from '#test/system/signed-calls.ts';
import { ModerationFixture, newGuild, newPlayer, OTHER_GUILD } from './fixture.ts';

const PLACE = 40001;
const EVERY_SCOPE = ['moderation:read', 'lookup:read', 'activity:read', 'server:read'];

const fixture = new ModerationFixture();
let lookup: RunningService;
let activity: RunningService;
/** Between the moderation service and the two others. */
let toLookup: TcpProxy;
let toActivity: TcpProxy;
let moderation: RunningService;
let links: ReturnType<typeof connect<typeof LookupServiceService>>;

beforeAll(async () => {
  await fixture.start();
  const environment = { ...testEnvironment(fixture.database.url), MEMBERS_GRPC_ADDRESS: '127.0.0.1:1' };
  const { clock } = fixture;
  lookup = await startService(lookupService, environment, { clock });
  activity = await startService(activityService, environment, { clock });
  [toLookup, toActivity] = await Promise.all([proxyTo(lookup), proxyTo(activity)]);
  moderation = await fixture.startReplica({
    LOOKUP_GRPC_ADDRESS: `127.0.0.1:${toLookup.port}`,
    ACTIVITY_GRPC_ADDRESS: `127.0.0.1:${toActivity.port}`,
  });
  links = connect(LookupServiceService, 'lookup', lookup.addresses.grpc ?? '', clock);
});
afterAll(async () => {
  links.close();
  await moderation.stop();
  await Promise.all([toLookup.close(), toActivity.close(), lookup.stop(), activity.stop()]);
  await fixture.stop();
});

const proxyTo = ({ addresses }: RunningService) => startTcpProxy(Number(addresses.grpc?.split(':')[1]));

/** Reads a person with a key that has the given scopes. */
function read(guildId: string, gameId: number | string, scopes: string[] | null = EVERY_SCOPE) {
  const service = { address: moderation.addresses.http ?? '', audience: 'moderation', clock: fixture.clock };
  const path = `/guilds/${guildId}/people/${gameId}`;
  return callService(service, { guildId, scopes, legacy: scopes === null }, { method: 'GET', path });
}

/** Sends a report of a game server to the activity service. */
async function report(guildId: string, path: string, body: object) {
  const service = { address: activity.addresses.http ?? '', audience: 'activity', clock: fixture.clock };
  const request = { method: 'POST', path, body: { guild_id: guildId, ...body } };
  const { status, body: answer } = await callService(service, { guildId }, request);
  if (status >= 300) throw new Error(JSON.stringify(answer));
  return answer.data;
}

function readActivity(guildId: string, path: string) {
  const service = { address: activity.addresses.http ?? '', audience: 'activity', clock: fixture.clock };
  return callService(service, { guildId }, { method: 'GET', path: `/guilds/${guildId}/${path}` });
}

/** Puts a player on a live server, into an open staff session, and links the player. */
async function play(guildId: string, gameId: number) {
  const serverId = randomUUID();
  const players = [{ game_id: gameId, username: 'AdaBuilds' }];
  const server = { server_id: serverId, place_id: PLACE };
  await report(guildId, '/game/servers/heartbeat', { ...server, player_count: 1, max_players: 30, players });
  const staff = { game_id: gameId, game_username: 'AdaBuilds' };
  const { session_id: sessionId } = await report(guildId, '/staff/game/session/start', { ...server, ...staff });
  const chatId = String(920_000_000_000_000_000n + BigInt(gameId));
  const link = { chatId, gameId, gameUsername: 'AdaBuilds' };
  await links.client.createLink({ guildId, operationId: randomUUID(), ...link });
  return { serverId, sessionId, chatId };
}

/** Makes a moderation decision with an API key, at the replica of the test. */
const decide = async (guildId: string, action: string, body: Record<string, unknown>) =>
  (await fixture.decide(action, body, { guildId, at: moderation })).body.data;

describe('a person', () => {
  test('of whom everything is known has all parts, each as its own route returns it', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    const { serverId, sessionId, chatId } = await play(guildId, gameId);
    const ban = await decide(guildId, 'ban', { game_id: gameId, duration: '7d' });
    const mute = await decide(guildId, 'mute', { game_id: gameId });
    const path = `/guilds/${guildId}/shield/${gameId}`;
    await fixture.put(path, { reason: 'Sells items', category: 'scammer' }, { guildId, at: moderation });
    const now = unixSeconds(fixture.clock.now());
    const response = await read(guildId, gameId);
    const at = { server_id: serverId, place_id: PLACE };
    const { entry } = (await fixture.get(`/shield/check/${gameId}`, { guildId, at: moderation })).body.data;
    const { logs } = (await fixture.get(`/moderation/${guildId}/logs?game_id=${gameId}`, { guildId })).body.data;
    expect(logs).toHaveLength(2);
    expect([response.status, response.body]).toEqual([
      200,
      {
        status: 'success',
        code: 200,
        message: 'Person read',
        data: {
          game_id: gameId,
          ban,
          mute,
          flag: entry,
          logs,
          link: { chat_id: chatId, game_id: gameId, game_username: 'AdaBuilds', verified: true },
          session: {
            session_id: sessionId,
            game_id: gameId,
            game_username: 'AdaBuilds',
            ...at,
            started_at: now,
            ended_at: null,
            idle_seconds: 0,
            end_reason: null,
          },
          server: {
            ...at,
            universe_id: null,
            player_count: 1,
            max_players: 30,
            fps: null,
            plugin_version: null,
            started_at: null,
            heartbeat_at: now,
            live_until: expect.any(Number),
          },
          omitted: [],
        },
      },
    ]);
    const [listed] = (await readActivity(guildId, 'staff/sessions')).body.data.sessions;
    expect(response.body.data.session).toEqual(listed);
    const found = await readActivity(guildId, `players/${gameId}/server`);
    expect(response.body.data.server).toEqual(found.body.data.server);
  });

  test('of whom nothing is known has nulls, also if another guild knows the player', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    await play(OTHER_GUILD, gameId);
    await decide(OTHER_GUILD, 'ban', { game_id: gameId });
    const nothing = { ban: null, mute: null, flag: null, logs: [], link: null, session: null, server: null };
    const response = await read(guildId, gameId);
    expect([response.status, response.body.data]).toEqual([200, { game_id: gameId, ...nothing, omitted: [] }]);
  });

  test('has the global ban rather than one of a place, and of two places the newer one', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    const inPlace = (place: number) => decide(guildId, 'ban', { game_id: gameId, scope: 'place', place_id: place });
    const banOf = async () => (await read(guildId, gameId)).body.data.ban;
    await inPlace(PLACE);
    const newer = await inPlace(PLACE + 1);
    expect(await banOf()).toEqual(newer);
    const global = await decide(guildId, 'ban', { game_id: gameId });
    await inPlace(PLACE + 2);
    expect(await banOf()).toEqual(global);
    await decide(guildId, 'unban', { game_id: gameId });
    expect(await banOf()).toBeNull();
  });

  test('has the newest entries of the log, the newest first', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    for (let count = 0; count < MAX_PERSON_LOGS; count++) {
      await decide(guildId, 'mute', { game_id: gameId, replace: true });
    }
    await decide(guildId, 'unmute', { game_id: gameId });
    const { logs } = (await read(guildId, gameId)).body.data;
    expect(logs).toHaveLength(MAX_PERSON_LOGS);
    expect(logs[0].action).toBe('unmute');
    const ids = logs.map(({ id }: { id: number }) => id);
    expect(ids).toEqual(ids.toSorted((a: number, b: number) => b - a));
  });

  test('is read by game ID only', async () => {
    const response = await read(newGuild(), 'ada');
    expect([response.status, response.body.details.errors]).toEqual([
      400,
      [{ path: 'path.gameId', message: expect.any(String) }],
    ]);
  });
});

describe('a part whose scope the key lacks is left out and named', () => {
  test.each([
    [['moderation:read'], ['link', 'session', 'server']],
    [
      ['moderation:read', 'lookup:read'],
      ['session', 'server'],
    ],
    [
      ['moderation:read', 'activity:write'],
      ['link', 'server'],
    ],
    [
      ['moderation:write', 'server:read'],
      ['link', 'session'],
    ],
    [null, []],
  ])('for a key with %j', async (scopes, omitted) => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    await play(guildId, gameId);
    const { data } = (await read(guildId, gameId, scopes)).body;
    expect(data.omitted).toEqual(omitted);
    const shown = ['link', 'session', 'server'].filter((part) => part in data && data[part] !== null);
    expect(shown).toEqual(['link', 'session', 'server'].filter((part) => !omitted.includes(part as never)));
  });
});

describe('a service that does not respond', () => {
  /** After the test: ends the fault, and waits until the service is reached again. */
  const finallyRestored = (restore: () => unknown) =>
    onTestFinished(async () => {
      await restore();
      await vi.waitUntil(async () => (await read(newGuild(), 7001)).status === 200, PATIENCE);
    });

  test.each([
    ['lookup', () => toLookup, ['moderation:read', 'activity:read', 'server:read']],
    ['activity', () => toActivity, ['moderation:read', 'lookup:read']],
  ] as const)(
    '%s that is down is a 503, never a person without that part; other parts do not need it',
    async (_name, proxy, others) => {
      const [guildId, gameId] = [newGuild(), newPlayer()];
      await play(guildId, gameId);
      finallyRestored(() => proxy().accept());
      await proxy().refuse();
      await vi.waitUntil(async () => (await read(guildId, gameId)).status !== 200, PATIENCE);
      const failed = await read(guildId, gameId);
      expect([failed.status, failed.body.details.code]).toEqual([503, 'UNAVAILABLE']);
      expect((await read(guildId, gameId, [...others])).status).toBe(200);
      expect((await fixture.banStatus(gameId, '', { guildId, at: moderation })).banned).toBe(false);
    },
  );

  test('a connection that is lost once is not noticed', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    await play(guildId, gameId);
    toLookup.cut();
    toActivity.cut();
    const { status, body } = await read(guildId, gameId);
    expect([status, body.data.omitted]).toEqual([200, []]);
    expect(body.data.server).not.toBeNull();
  });

  test('one that hangs ends in a 503 or 504 within the deadline', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    await play(guildId, gameId);
    finallyRestored(() => toLookup.slow(0));
    toLookup.slow(5_000);
    const begun = performance.now();
    const { status } = await read(guildId, gameId);
    expect([503, 504]).toContain(status);
    expect(performance.now() - begun).toBeLessThan(4_900);
  });
});
