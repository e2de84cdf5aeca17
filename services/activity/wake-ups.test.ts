import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { FakeSettings } from '#test/system/fake-settings.ts';
import { ActivityFixture, newGuild } from './fixture.ts';
import { OpenCloudStub } from './fixtures/open-cloud.ts';

const UNIVERSE = 30001;
const PATIENT = { timeout: 10_000, interval: 20 };
const TEN_MINUTES_MS = 600_000;

const fixture = new ActivityFixture();
const cloud = new OpenCloudStub();
const members = new FakeSettings('activity', fixture.clock, { pushCommands: true });
const replicas: RunningService[] = [];
let guildId: string;

beforeAll(async () => {
  await Promise.all([cloud.start(), members.start(), fixture.start()]);
  const environment = {
    GAME_API_KEY: 'game-key',
    GAME_APIS_URL: cloud.url,
    MEMBERS_GRPC_ADDRESS: members.address,
  };
  replicas.push(await fixture.startActivity(environment), await fixture.startActivity(environment));
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()));
  await fixture.stop();
  await members.stop();
  await cloud.stop();
});
beforeEach(() => {
  guildId = newGuild();
  cloud.forget();
  members.settings = { ...members.settings, pushCommands: true };
  members.isDown = false;
});

const beat = (serverId: string, fields: object = {}) =>
  fixture.beat(serverId, { universe_id: UNIVERSE, ...fields }, { guildId, at: replicas[0] });
const sendTo = (serverId: string, replica = replicas[0]) =>
  fixture.send(serverId, { guildId, servers: { $case: 'serverId', value: serverId } }, replica);
const sendToAll = (replica = replicas[0]) => fixture.enqueue({ guildId }, replica);
const published = () => cloud.messagesOf(guildId);

test('servers are told the topic, but not without a key of the game platform', async () => {
  expect((await beat('a')).body.data.wake_up_topic).toBe(`guild-data-${guildId}`);
  expect((await fixture.beat('a', {}, { guildId })).body.data).not.toHaveProperty('wake_up_topic');
});

test('a command for a server wakes that server, through the universe that its heartbeat named', async () => {
  await beat('a');
  await beat('b', { universe_id: 30002 });
  await beat('c', { universe_id: undefined });
  await sendTo('b');
  await vi.waitFor(() => expect(published()).toEqual([{ universeId: 30002, message: { servers: ['b'] } }]), PATIENT);
  expect(cloud.keys).toEqual(['game-key']);
});

test('a guild that has not turned it on gets no messages, nor one whose settings cannot be read', async () => {
  await beat('a');
  members.settings = { ...members.settings, pushCommands: false };
  members.calls = 0;
  await sendToAll();
  await vi.waitUntil(() => members.calls === 1, PATIENT);
  members.isDown = true;
  const unread = newGuild();
  const at = replicas[0];
  await fixture.beat('b', { universe_id: UNIVERSE }, { guildId: unread, at });
  await fixture.enqueue({ guildId: unread }, at);
  const failed = () => fixture.metric('activity_wake_ups_total', '{outcome="failed"}', at);
  await vi.waitFor(async () => expect(await failed()).toBe(1), PATIENT);

  // The settings that were read are used until they are ten seconds old, or longer while they cannot be read.
  members.isDown = false;
  members.settings = { ...members.settings, pushCommands: true };
  await sendToAll();
  await fixture.advance(10_000);
  members.settings = { ...members.settings, pushCommands: true };
  await sendToAll();
  await vi.waitFor(() => expect(published()).toEqual([{ universeId: UNIVERSE, message: {} }]), PATIENT);
  expect(cloud.messagesOf(unread)).toEqual([]);
});

test('a command for a place wakes the servers of that place, and one for all servers those of each universe', async () => {
  await beat('a', { place_id: 1 });
  await beat('b', { place_id: 2, universe_id: 30002 });
  await fixture.enqueue({ guildId, servers: { $case: 'placeId', value: 2 } }, replicas[0]);
  await vi.waitFor(() => expect(published()).toEqual([{ universeId: 30002, message: { places: [2] } }]), PATIENT);
  await fixture.advance(500);
  cloud.forget();
  await sendToAll();
  await vi.waitFor(() => {
    expect(published().toSorted((a, b) => a.universeId - b.universeId)).toEqual([
      { universeId: UNIVERSE, message: {} },
      { universeId: 30002, message: {} },
    ]);
  }, PATIENT);
});

test('commands that are sent together through several replicas are one message, and one more for those that missed it', async () => {
  const servers = ['a', 'b', 'c'];
  for (const serverId of servers) await beat(serverId);
  cloud.delayMs = 200;
  await sendTo('a');
  await vi.waitFor(() => expect(published()).toHaveLength(1), PATIENT);
  await Promise.all(servers.flatMap((serverId) => replicas.map((replica) => sendTo(serverId, replica))));
  // The database's time stands still, so that no further message may be sent.
  await vi.waitFor(async () => expect(await requestedFor()).toEqual(expect.arrayContaining(['server:c'])), PATIENT);
  expect(published()).toHaveLength(1);
  await fixture.advance(500);
  await vi.waitFor(() => expect(published()).toHaveLength(2), PATIENT);
  expect(published()[1]?.message).toEqual({ servers: expect.arrayContaining(servers) });
});

test('a message for more servers than it can name is for all servers', async () => {
  const servers = Array.from({ length: 11 }, (_, index) => `s${index}`);
  await Promise.all(servers.map((serverId) => beat(serverId)));
  await sendTo('s0');
  await vi.waitFor(
    () => expect(published()).toEqual([{ universeId: UNIVERSE, message: { servers: ['s0'] } }]),
    PATIENT,
  );
  for (const serverId of servers) await sendTo(serverId);
  await fixture.advance(500);
  await vi.waitFor(() => expect(published().at(-1)?.message).toEqual({}), PATIENT);
});

test('after a rejection no message is sent to the universe for ten minutes', async () => {
  await beat('a');
  cloud.status = 403;
  await sendToAll();
  await vi.waitFor(() => expect(published()).toHaveLength(1), PATIENT);
  await vi.waitFor(async () =>
    expect(await fixture.metric('activity_wake_ups_total', '{outcome="rejected"}', replicas[0])).toBe(1),
  );
  cloud.status = 200;
  await fixture.advance(TEN_MINUTES_MS - 1_000);
  await beat('a');
  await sendToAll();
  await vi.waitFor(async () => expect(await requestedFor()).toEqual([]), PATIENT);
  expect(published()).toHaveLength(1);
  await fixture.advance(1_000);
  await sendToAll();
  await vi.waitFor(() => expect(published()).toHaveLength(2), PATIENT);
});

test('while the platform fails, commands are handed over as without messages', async () => {
  await beat('a');
  cloud.status = 503;
  const [commandId] = await sendTo('a');
  const failed = () => fixture.metric('activity_wake_ups_total', '{outcome="failed"}', replicas[0]);
  await vi.waitFor(async () => expect(await failed()).toBeGreaterThan(0), PATIENT);
  const { commands } = (await beat('a')).body.data;
  expect(commands.map(({ command_id }: { command_id: string }) => command_id)).toEqual([commandId]);
});

test('a guild whose servers name many universes gets messages to ten of them', async () => {
  const servers = Array.from({ length: 15 }, (_, index) => `s${index}`);
  await Promise.all(servers.map((serverId, index) => beat(serverId, { universe_id: 40_000 + index })));
  await sendToAll();
  await vi.waitFor(() => expect(published()).toHaveLength(10), PATIENT);
  await fixture.advance(500);
  for (const serverId of servers) await sendTo(serverId);
  await vi.waitFor(async () => expect(await universes()).toBe(10), PATIENT);
});

/** The recipients of the message to the first universe that waits; undefined if none waits. */
async function requestedFor(): Promise<string[] | undefined> {
  const [row] = await fixture.database.query<{ recipients: string[] }>(
    'SELECT recipients FROM activity.wake_ups WHERE guild_id = $1 AND is_requested',
    [guildId],
  );
  return row?.recipients;
}

async function universes(): Promise<number> {
  const rows = await fixture.database.query('SELECT FROM activity.wake_ups WHERE guild_id = $1', [guildId]);
  return rows.length;
}
