import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { GUILD, type Network, startNetwork } from '#test/system/system.ts';
import { callerArguments, functionName } from '../generator/operation-module.ts';
import { OPERATIONS } from '../generator/operations.ts';
import { createEngine, type Engine } from './engine/engine.ts';
import { readModules } from './engine/modules.ts';
import { type Result, SOURCE } from './fixture.ts';

// The module on a real Luau VM against the real gateway and services, in real time.

let network: Network;
let key: string;

beforeAll(async () => {
  network = await startNetwork();
  key = (await network.createKey()).secret;
});
afterAll(async () => {
  await network.stop();
});

async function startServer(options: { secret?: string } = {}): Promise<Engine> {
  const engine = await createEngine({
    modules: [await readModules(SOURCE, 'GuildData')],
    secrets: { guild_data_key: { value: options.secret ?? key, domain: '127.0.0.1' } },
  });
  onTestFinished(async () => {
    await engine.crash();
    expect(engine.errors).toEqual([]);
  });
  return engine;
}

const run = async <T = Result>(engine: Engine, script: string): Promise<T> =>
  await engine.run<T>(`
    local GuildData = require(script.Parent.GuildData)
    local HttpService = game:GetService("HttpService")
    local guild = GuildData.new({ guildId = "${GUILD}", baseUrl = "${network.api.replace('/api/v1', '')}" })
    ${script}`);

test('every operation reaches its route, in the form that the route accepts', async () => {
  const engine = await startServer();
  const calls = OPERATIONS.map((route) => ({
    name: functionName(route),
    args: Object.fromEntries(callerArguments(route).map(({ name }) => [name, `my ${name}`])),
  }));
  const results = await run<Record<string, Result>>(
    engine,
    `
    local results = {}
    for _, call in HttpService:JSONDecode([==[${JSON.stringify(calls)}]==]) do
      results[call.name] = (guild.api :: any)[call.name](call.args, { attempts = 1 })
    end
    return results`,
  );
  expect(Object.keys(results).toSorted()).toEqual(calls.map(({ name }) => name).toSorted());
  const outcomes = Object.entries(results).map(([name, { ok, status, code }]) => ({ name, ok, status, code }));
  // The values are invalid on purpose: the error shows that the service read them from the right part of the request.
  expect(outcomes.filter(({ ok, code }) => !ok && !['INVALID_REQUEST', 'NOT_FOUND'].includes(code ?? ''))).toEqual([]);
  const complaints = Object.values(results).flatMap(({ details }) => (details?.['errors'] ?? []) as { path: string }[]);
  expect(complaints.filter(({ path }) => /guild|Guild/.test(path))).toEqual([]);
});

test('a ban, its status and its end; a repeated request has the first response', async () => {
  const engine = await startServer();
  const results = await run<Result[]>(
    engine,
    `
    local once = { idempotencyKey = "${randomUUID()}" }
    return {
      guild.api.banPlayer({ game_id = 7001, reason = "spam", duration = "1h" }, once),
      guild.api.banPlayer({ game_id = 7001, reason = "spam", duration = "1h" }, once),
      guild.api.getPlayerStatuses({ game_ids = { 7001, 7002 } }),
      guild.api.unbanPlayer({ game_id = 7001 }),
      guild.api.unbanPlayer({ game_id = 7001 }),
    }`,
  );
  expect(results.map(({ status }) => status)).toEqual([201, 201, 200, 200, 404]);
  expect(results.map(({ replayed }) => replayed)).toEqual([false, true, false, false, undefined]);
  expect(results[1]?.data).toEqual(results[0]?.data);
  expect(results[2]?.data.results).toMatchObject({ 7001: { banned: true }, 7002: { banned: false } });
  expect(results.map(({ request_id }) => request_id)).not.toContain('');
});

test('a write whose response is lost is done once', async () => {
  const engine = await startServer();
  let isLost = false;
  engine.network.fault = ({ method }) => {
    if (method !== 'POST' || isLost) return undefined;
    isLost = true;
    return { kind: 'reset-after-send' };
  };
  const results = await run<Result[]>(
    engine,
    `
    return {
      guild.api.banPlayer({ game_id = 7010, reason = "spam" }),
      guild.api.listModerationLogs({ game_id = 7010 }),
    }`,
  );
  expect(isLost).toBe(true);
  expect(results[0]).toMatchObject({ ok: true, status: 201, replayed: true });
  expect(results[1]?.data.logs).toHaveLength(1);
});

test('a wrong key is explained', async () => {
  const engine = await startServer({ secret: `service_${GUILD}_${'a'.repeat(38)}` });
  expect(await run(engine, 'return guild.api.whoami()')).toMatchObject({
    ok: false,
    status: 401,
    code: 'INVALID_API_KEY',
  });
  expect(engine.output.map(({ text }) => text).join()).toContain('Check that the whole key was copied');
});
