import { Client } from 'pg';
import { afterAll, beforeAll, expect, type TestContext, test, vi } from 'vitest';
import { GUILD, type Network, startNetwork } from '#test/system/system.ts';
import { createEngine, type Engine, type EngineOptions, Universe } from '../engine/engine.ts';
import { guildDataModule, scriptOf } from './place.ts';

const PLACE = 4001;
const ESTHER = '920000000000000005';
/** Servers that start together spread their requests over up to a minute. Here they send them soon. */
const SHORT_PAUSES = 'services = { random = function() return 0.01 end }';
/** A heartbeat acknowledges commands every 15 s. */
const patience = { timeout: 50_000, interval: 200 };
/** Reads of activity are limited to 100 a minute, which the tests of this file share. */
const slowly = { timeout: 58_000, interval: 1_000 };

let network: Network;
let database: Client;
let gateway: string;
let key: string;

beforeAll(async () => {
  network = await startNetwork();
  database = new Client({ connectionString: network.databaseUrl });
  await database.connect();
  gateway = network.api;
  // The test of an outage stops this one, while the others go on.
  await network.startOne('gateway');
  key = (await network.createKey()).secret;
});
afterAll(async () => {
  await database.end();
  await network.stop();
});

interface ServerOptions extends EngineOptions {
  settings?: string;
  before?: string;
  apiKey?: string;
  /** The address of its gateway, with the prefix of the API. */
  api?: string;
}

/** Starts a game server that runs the module against the real gateway, in real time. */
async function newServer(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  { settings = '', before = '', apiKey = key, api = gateway, ...options }: ServerOptions = {},
) {
  const { game, ...others } = options;
  const engine = await createEngine({
    modules: [await guildDataModule()],
    game: { PlaceId: PLACE, ...game },
    ...others,
  });
  onTestFinished(async () => {
    await engine.crash();
    expect(engine.errors).toEqual([]);
  });
  const url = api.replace('/api/v1', '');
  await engine.run(scriptOf(url, apiKey, `${SHORT_PAUSES}, ${settings}`, `${before}\nguild:start()`));
  return engine;
}

const run = <T>(engine: Engine, source: string) => engine.run<T>(`local guild = _G.guild\n${source}`);

/** Makes a request. It is repeated while the services respond with 503: the engines use the processor of this process too. */
// oxlint-disable-next-line typescript/no-explicit-any -- any response
async function call(path: string, body?: object): Promise<any> {
  const { status, json } = await vi.waitUntil(async () => {
    const response = await network.call(path, { key, api: gateway, ...(body && { method: 'POST', body }) });
    return response.status !== 503 && response;
  }, patience);
  if (status >= 300) throw new Error(JSON.stringify(json));
  return json.data;
}

const ban = (game_id: number, more = {}) => call(`/moderation/${GUILD}/game/ban`, { game_id, reason: 'spam', ...more });
/** Waits until the API has accepted a heartbeat. */
const isLive = ({ requests }: Engine) =>
  vi.waitFor(
    () => expect(requests.some(({ url, status }) => url.endsWith('/heartbeat') && status === 200)).toBe(true),
    patience,
  );
const outcomeOf = async (id: string) => (await call(`/guilds/${GUILD}/commands/${id}`)).outcome;

const RECORD_COMMANDS = `
  _G.ran = {}
  guild:onCommand("custom", function(command)
    table.insert(_G.ran, command.payload.text)
    return true, { length = #command.payload.text }
  end)`;

test.concurrent('while the gateway is down banned players stay out of new servers, and no action is lost', async (context) => {
  const universe = new Universe();
  const api = network.api;
  await ban(7201);
  const first = await newServer(context, { universe, api });
  const stored = () => [...universe.dataStores.entries.keys()].some((name) => name.includes('/bans/'));
  await vi.waitFor(() => expect(stored()).toBe(true), patience);
  const index = () => JSON.parse(universe.dataStores.entries.get(`GuildData_${GUILD}/global/bans`)?.value ?? '{}');
  await vi.waitFor(() => expect(index().since).toBeGreaterThan(0), patience);

  const port = network.address('gateway', 'http').split(':').at(-1);
  await network.services.get('gateway')?.stop();
  const second = await newServer(context, { universe, api });
  second.addPlayer(7201);
  second.addPlayer(7202);
  for (const engine of [first, second]) {
    await run(engine, 'guild:logAction({ actor = 9003, target = 7201, action_type = "outage" })');
  }
  await vi.waitFor(() => expect(second.kicks.map(({ userId }) => userId)).toEqual([7201]), patience);
  expect([...second.players]).toEqual([7202]);
  await network.startOne('gateway', { GATEWAY_PORT: port });
  const actions = () => call(`/guilds/${GUILD}/staff/actions?action_type=outage`);
  await vi.waitFor(async () => expect((await actions()).actions).toHaveLength(2), slowly);
});

test.concurrent('a server fetches commands by long poll, runs them once and acknowledges them', async (context) => {
  const server = await newServer(context, { before: RECORD_COMMANDS });
  await isLive(server);
  const send = (text: string) =>
    call(`/guilds/${GUILD}/commands`, { type: 'custom', server_id: server.jobId, payload: { text } });
  const begun = performance.now();
  const { command_id: id } = await send('hello');
  await vi.waitFor(async () => expect(await run(server, 'return _G.ran')).toEqual(['hello']), patience);
  expect(performance.now() - begun).toBeLessThan(10_000);
  const { command_id: second } = await send('again');
  await vi.waitFor(async () => expect(await outcomeOf(second)).toMatchObject({ succeeded: 1 }), slowly);
  expect(await outcomeOf(id)).toMatchObject({ servers: 1, delivered: 1, succeeded: 1 });
  expect((await call(`/guilds/${GUILD}/commands/${id}`)).servers[0]).toMatchObject({
    result: { length: 5 },
    attempt: 1,
  });
  expect(await run(server, 'return _G.ran')).toEqual(['hello', 'again']);
  expect(server.requests.filter(({ url }) => url.endsWith('/ack'))).toEqual([]);
});

test.concurrent('a server that dies between poll and acknowledgement loses no command', async (context) => {
  const game = { JobId: 'job-that-dies' };
  const first = await newServer(context, { before: RECORD_COMMANDS, game });
  await isLive(first);
  // The response with the command never arrives.
  first.network.fault = () => ({ kind: 'reset-after-send' });
  const sent = { type: 'custom', server_id: first.jobId, payload: { text: 'late' }, ttl_seconds: 600 };
  const { command_id: id } = await call(`/guilds/${GUILD}/commands`, sent);
  await vi.waitFor(async () => expect(await outcomeOf(id)).toMatchObject({ delivered: 1 }), slowly);
  await first.crash();
  await database.query('UPDATE activity.commands SET leased_until = now() WHERE command_id = $1', [id]);
  const second = await newServer(context, { before: RECORD_COMMANDS, game });
  await vi.waitFor(async () => expect(await run(second, 'return _G.ran')).toEqual(['late']), patience);
  await second.close();
  expect(await outcomeOf(id)).toMatchObject({ succeeded: 1 });
});

test.concurrent('banned players are kicked when they join, and players who are banned while they play', async (context) => {
  await ban(7101, { reason: 'Used speed hacks' });
  const server = await newServer(context);
  for (const id of [7101, 7102, 7103]) server.addPlayer(id);
  await vi.waitFor(() => expect(server.kicks).toHaveLength(1), patience);
  expect(server.kicks[0]?.reason).toContain('Used speed hacks');
  await isLive(server);
  await ban(7102, { scope: 'place', place_id: PLACE });
  await ban(7103, { scope: 'place', place_id: 5 });
  await vi.waitFor(() => expect(server.kicks.map(({ userId }) => userId)).toEqual([7101, 7102]), patience);
  expect([...server.players]).toEqual([7103]);
});

test.concurrent('sessions and actions of staff are reported, and end with the server', async (context) => {
  const settings = 'gameName = "Harbor Life", loops = { staff = { isStaff = function(p) return p.UserId > 9000 end } }';
  const server = await newServer(context, { settings });
  server.addPlayer(9001, 'Officer');
  await run(server, 'guild:logAction({ actor = 9001, target = 7001, action_type = "kick", reason = "spam" })');
  const sessions = () => call(`/guilds/${GUILD}/staff/sessions?game_id=9001`);
  await vi.waitFor(async () => expect((await sessions()).sessions).toHaveLength(1), slowly);
  await run(server, 'guild:logAction({ actor = 9001, action_type = "warn" })');
  await server.close();
  expect((await sessions()).sessions[0]).toMatchObject({ game_username: 'Officer', ended_at: expect.any(Number) });
  const { actions } = await call(`/guilds/${GUILD}/staff/actions?actor_game_id=9001`);
  expect(actions.map(({ action_type: type }: { action_type: string }) => type)).toEqual(['warn', 'kick']);
  const { servers } = await call(`/guilds/${GUILD}/servers`);
  expect(servers.map(({ server_id: id }: { server_id: string }) => id)).not.toContain(server.jobId);
});

test.concurrent('a player is verified with a code of the chat platform', async (context) => {
  const server = await newServer(context);
  server.addPlayer(7005, 'EstherRows');
  const status = 'return guild:verify(game.Players:GetPlayerByUserId(7005)).data.verified';
  await vi.waitFor(async () => expect(await run(server, status)).toBe(false), patience);
  const { code } = await call('/verification/tokens', { guild_id: GUILD, chat_id: ESTHER });
  const redeem = `return guild:redeem(game.Players:GetPlayerByUserId(7005), "${code.toLowerCase()}").data.link`;
  expect(await run(server, redeem)).toEqual({
    chat_id: ESTHER,
    game_id: 7005,
    game_username: 'EstherRows',
    verified: true,
  });
  expect(await run(server, status)).toBe(true);
});

test.concurrent('a key with a low cap slows the server down, and commands still arrive', async (context) => {
  const apiKey = (await network.createKey({ rateLimit: 12 })).secret;
  const server = await newServer(context, { before: RECORD_COMMANDS, apiKey });
  await isLive(server);
  const sent = { type: 'custom', server_id: server.jobId, payload: { text: 'slow' } };
  const { command_id: id } = await call(`/guilds/${GUILD}/commands`, sent);
  for (let count = 0; count < 30; count++) await run(server, 'guild:logAction({ actor = 9002, action_type = "warn" })');
  await vi.waitFor(async () => expect(await outcomeOf(id)).toMatchObject({ succeeded: 1 }), slowly);
  expect(await run(server, 'return _G.ran')).toEqual(['slow']);
  const rejected = server.requests.filter((request) => request.status === 429);
  expect(rejected.length).toBeLessThan(5);
});
