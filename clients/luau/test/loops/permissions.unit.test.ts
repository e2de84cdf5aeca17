import { expect, test } from 'vitest';
import type { Engine } from '../engine/engine.ts';
import { newPlace, type Place } from './place.ts';

/** A server whose API takes two seconds to return permissions, and with a function that notes them in `_G.answers`. */
async function startServer(): Promise<{ place: Place; server: Engine; requests: () => number }> {
  const place = newPlace();
  const data = { game_id: 9001, is_staff: true, level: 5, permissions: ['kick'], cache_seconds: 300 };
  const server = await place.server();
  const isAbout = (url: string) => url.includes('/permissions');
  server.network.latency = 2000;
  server.network.fault = ({ url }) => {
    const response = { status: 200, body: JSON.stringify({ status: 'success', code: 200, message: '', data }) };
    return isAbout(url) ? { kind: 'respond', response } : undefined;
  };
  server.addPlayer(9001);
  await place.seconds(10);
  await place.run(
    server,
    `_G.answers = {}
    function _G.ask(name)
      return task.spawn(function()
        _G.answers[name] = guild:hasPermission(game.Players:GetPlayerByUserId(9001), "kick")
      end)
    end`,
  );
  return { place, server, requests: () => server.requests.filter(({ url }) => isAbout(url)).length };
}

test('permissions arrive although the thread that asked for them first was cancelled', async () => {
  const { place, server, requests } = await startServer();
  await place.run(server, 'local first = _G.ask("first") _G.ask("second") task.cancel(first)');
  await place.seconds(10);
  await place.run(server, '_G.ask("later")');
  await place.seconds(10);
  expect(await place.run(server, 'return _G.answers')).toEqual({ second: true, later: true });
  expect(requests()).toBe(1);
});

test('a cancelled thread does not keep the permissions from others that wait for them', async () => {
  const { place, server, requests } = await startServer();
  await place.run(server, '_G.ask("first") local second = _G.ask("second") _G.ask("third") task.cancel(second)');
  await place.seconds(10);
  expect(await place.run(server, 'return _G.answers')).toEqual({ first: true, third: true });
  expect(requests()).toBe(1);
});

test('a call for permissions that fails without a request returns at once', async () => {
  const { place, server } = await startServer();
  const codes = await place.run(
    server,
    `local broken = require(game.ServerScriptService.GuildData).new({ guildId = "x", onLog = function() end })
    return { broken:permissions({ UserId = 1 }).code, broken:permissions({ UserId = 1 }).code }`,
  );
  expect(codes).toEqual(['INVALID_SETTINGS', 'INVALID_SETTINGS']);
});
