import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from './engine/clock.ts';
import { createEngine, type EngineOptions, Universe } from './engine/engine.ts';
import { readModules } from './engine/modules.ts';
import { KEY, SOURCE } from './fixture.ts';
import { FakeApi } from './loops/fake-api.ts';

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8');

const STAFF = { is_staff: true, level: 100, permissions: ['kick'], cache_seconds: 300 };
const NOT_STAFF = { is_staff: false, level: 0, permissions: [], cache_seconds: 300 };

/** Starts a server that runs one script, with an API in which player 1 is a member of the staff. */
async function startScript(source: string) {
  const clock = new VirtualClock();
  const api = new FakeApi(() => clock.now());
  const transport: EngineOptions['transport'] = async (request) => {
    const [, id] = /\/staff\/game\/(\d+)\/permissions$/.exec(request.url) ?? [];
    if (id === undefined) return await api.transport(request);
    const data = { game_id: Number(id), chat_id: null, role_name: null, ...(id === '1' ? STAFF : NOT_STAFF) };
    return { status: 200, message: '', headers: {}, body: JSON.stringify({ status: 'success', code: 200, data }) };
  };
  const engine = await createEngine({
    universe: new Universe({ clock }),
    modules: [await readModules(SOURCE, 'GuildData')],
    secrets: { guild_data_key: { value: KEY, domain: 'api.example.com' } },
    transport,
  });
  onTestFinished(async () => {
    await engine.crash();
    expect(engine.errors).toEqual([]);
  });
  await clock.until(engine.run(source));
  return { engine, api, seconds: (count: number) => clock.advance(count * 1000), clock };
}

test('the example place: verification, bans, mutes, commands, staff sessions and the action log', async () => {
  const { engine, api, seconds, clock } = await startScript(read('example/Main.server.luau'));
  api.ban(4, { reason: 'cheating' });
  for (const [id, name] of [
    [1, 'Ada'],
    [2, 'Ben'],
    [3, 'Cas'],
    [4, 'Dan'],
  ] as const) {
    engine.addPlayer(id, name);
  }
  await seconds(20);
  expect(engine.kicks).toEqual([{ userId: 4, reason: 'You are banned: cheating' }]);
  expect([...api.sessions.values()].map(({ game_id }) => game_id)).toEqual([1]);

  engine.chat(2, '/verify WRONG');
  engine.chat(3, '/verify H7KM4PRX');
  engine.chat(2, '/kick Cas');
  await seconds(5);
  expect(api.linked.has(3)).toBe(true);
  const lines = engine.output.map(({ text }) => text);
  expect(lines).toContain('to Cas: You are verified.');
  expect(lines).toContain('to Ben: You cannot do that.');
  expect(lines.filter((line) => line.startsWith('to Ada: Ask for a verification code'))).toHaveLength(1);

  const commands = [
    api.send('mute', { target: { game_id: 2, game_username: 'Ben' } }),
    api.send('message', { target: { game_id: 2, game_username: 'Ben' }, payload: { text: 'Hello' } }),
    api.send('broadcast', { payload: { text: 'Restart soon' } }),
    api.send('kick', { target: { game_id: 3, game_username: 'Cas' }, payload: { reason: 'afk' } }),
  ];
  engine.chat(1, '/kick Ben bad words');
  await seconds(60);
  expect(commands.map(({ acked }) => acked?.status)).toEqual(['success', 'success', 'success', 'success']);
  expect(new Set(engine.kicks.map(({ userId }) => userId))).toEqual(new Set([2, 3, 4]));
  expect([...api.actions.values()]).toEqual([
    expect.objectContaining({ actor_game_id: 1, target_game_id: 2, action_type: 'kick' }),
  ]);
  await clock.until(engine.close());
  expect(api.callsOf('/game/servers/heartbeat').at(-1)?.body.final).toBe(true);
});

test('the first script of the README has at most ten lines, and keeps a banned player out', async () => {
  const [, script = ''] = /```lua\n([^]*?)```/.exec(read('README.md')) ?? [];
  expect(
    script
      .trim()
      .split('\n')
      .filter((line) => line.trim() !== '').length,
  ).toBeLessThanOrEqual(10);
  const { engine, api, seconds } = await startScript(script);
  api.ban(4, { reason: 'cheating' });
  engine.addPlayer(1, 'Ada');
  engine.addPlayer(4, 'Dan');
  const kick = api.send('kick', { target: { game_id: 1, game_username: 'Ada' } });
  await seconds(40);
  expect(new Set(engine.kicks.map(({ userId }) => userId))).toEqual(new Set([1, 4]));
  expect(kick.acked?.status).toBe('success');
  expect([...api.sessions.values()].map(({ game_id }) => game_id)).toEqual([1]);
});

test('every script of the README is valid Luau, and runs', async () => {
  const scripts = [...read('README.md').matchAll(/```lua\n([^]*?)```/g)].map(([, text = '']) => text);
  expect(scripts.length).toBeGreaterThan(5);
  const [first = '', ...others] = scripts;
  const { seconds, api, engine, clock } = await startScript(`${first}\n_G.guild = guild`);
  engine.addPlayer(1, 'Ada');
  await seconds(20);
  for (const script of others) {
    const header = `local guild = _G.guild
      local GuildData = require(game:GetService("ServerScriptService").GuildData)
      local player = game:GetService("Players"):GetPlayerByUserId(1)\n`;
    await clock.until(engine.run(script.includes('GuildData.new') ? script : header + script));
  }
  await seconds(60);
  expect(api.calls.length).toBeGreaterThan(5);
});
