import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { HttpRequest } from './engine/http.ts';
import { readModules } from './engine/modules.ts';
import { BASE_URL, failure, type Place, type Respond, SOURCE, startPlace, success } from './fixture.ts';
import { bodyFaults } from './loops/body-faults.ts';
import { FakeApi } from './loops/fake-api.ts';

const PLUGIN = readFileSync(join(import.meta.dirname, '../adonis/Server-GuildData.luau'), 'utf8');

/** The parts of Adonis that plugins receive and this plugin uses. */
const ADONIS = `
  local function newSignal()
    local callbacks = {}
    return {
      Connect = function(_, callback) table.insert(callbacks, callback) end,
      Fire = function(_, ...)
        for _, callback in callbacks do task.spawn(callback, ...) end
      end,
    }
  end
  local Players = game:GetService("Players")
  local banned, timeBanned, shown = {}, {}, {}
  local function remove(list, who)
    for index, entry in list do
      if entry.UserId == who or (type(who) ~= "number" and entry.UserId == who.UserId) then
        return table.remove(list, index)
      end
    end
    return nil
  end
  local levels = { [1] = 900, [2] = 100, [3] = 0 }
  local server = {
    Admin = {
      AddBan = function(p, reason) table.insert(banned, { UserId = p.UserId, Name = p.Name, Reason = reason }) end,
      AddTimeBan = function(p, duration) table.insert(timeBanned, { UserId = p.UserId, Duration = duration }) end,
      RemoveBan = function(who) return remove(banned, who) end,
      RemoveTimeBan = function(who) return remove(timeBanned, who) end,
      GetLevel = function(p) return levels[p.UserId] or 0, "Rank" end,
    },
    Functions = {
      Notification = function(title, text, players) table.insert(shown, { title = title, text = text, count = #players }) end,
    },
  }
  local service = { Players = Players, Events = { CommandRan = newSignal(), PlayerAdded = newSignal() } }
  require(script.Parent.Plugin)({ Server = server, Service = service })
  local moderator = { UserId = 2, Name = "Moderator" }
`;

/** Starts a server with Adonis and the plugin, and runs a script in it. The API is down for so many seconds. */
async function runWithAdonis(script: string, options: { downSeconds?: number; prepare?: (api: FakeApi) => void } = {}) {
  const now = () => (place as Place | undefined)?.clock.now() ?? 0;
  const api = new FakeApi(now);
  options.prepare?.(api);
  const requests: HttpRequest[] = [];
  const accepted: HttpRequest[] = [];
  let begun: number | undefined;
  const respond: Respond = async (request) => {
    begun ??= now();
    if (now() - begun < (options.downSeconds ?? 0) * 1000) return failure(503, 'UNAVAILABLE');
    requests.push(request);
    const path = request.url.slice(`${BASE_URL}/api/v1`.length);
    const faults = bodyFaults(request.method, path, JSON.parse(String(request.body ?? '{}')));
    if (faults.length > 0) return failure(400, 'INVALID_REQUEST', {}, { faults });
    accepted.push(request);
    return /game\/(un)?ban$/.test(request.url) ? success({}) : await api.transport(request);
  };
  const place = await startPlace({
    respond,
    modules: [await readModules(SOURCE, 'GuildData'), { name: 'Plugin', source: PLUGIN }],
  });
  place.engine.addPlayer(3);
  const result = await place.clock.until(place.engine.run(`${ADONIS}\n${script}`), 3_600_000);
  const sent = (path: string) =>
    accepted
      .filter(({ url }) => url.endsWith(path))
      .map(({ body }) => JSON.parse(String(body)) as Record<string, unknown>);
  return { place, result, requests, sent, api };
}

test('bans that Adonis stores are reported with their moderator, reason and duration', async () => {
  const { sent, place } = await runWithAdonis(`
    server.Admin.AddBan({ UserId = 50, Name = "Cheater" }, "exploiting\\n", true, moderator, "Global")
    server.Admin.AddTimeBan({ UserId = 51, Name = "Spammer" }, "3600", "", moderator)
    server.Admin.AddBan({ UserId = 52, Name = "Local" }, "only here", false, moderator, "Server")
    server.Admin.AddBan({ UserId = -1, Name = "Fake" }, "x", true)
    task.wait(5)`);
  const common = { moderator_game_id: 2, replace: true, source_server_id: place.engine.jobId };
  expect(sent('/game/ban')).toEqual([
    { ...common, game_id: 50, game_username: 'Cheater', reason: 'exploiting ' },
    { ...common, game_id: 51, game_username: 'Spammer', reason: 'No reason provided', duration: 3600 },
  ]);
});

test('a ban whose reason has control characters reaches the API', async () => {
  const { sent, place } = await runWithAdonis(`
    for id, reason in { "a\\0b", "a\\127b", "a\\u{80}b", "a\\u{92}b", "a\\u{9F}b", "a\\194" } do
      server.Admin.AddBan({ UserId = id, Name = "Cheater" }, reason, true, moderator)
    end
    task.wait(20)`);
  expect(sent('/game/ban').map(({ reason }) => reason)).toEqual([...Array(5).fill('a b'), 'a?']);
  expect(place.warnings).toEqual([]);
});

test('a ban whose duration or name the API would not accept is reported', async () => {
  const { sent, place } = await runWithAdonis(`
    local decade = 3650 * 24 * 3600
    for id, duration in { 1.5, decade, decade + 1, 1e17, "inf" } do
      server.Admin.AddTimeBan({ UserId = id, Name = string.rep("n", 60) .. "\\n" }, duration, "x", moderator)
    end
    task.wait(20)`);
  const bans = sent('/game/ban');
  expect(bans.map(({ game_id, duration }) => [game_id, duration])).toEqual([
    [1, 1],
    [2, 315_360_000],
    [3, undefined],
    [4, undefined],
    [5, undefined],
  ]);
  expect(bans[0]?.['game_username']).toBe('n'.repeat(50));
  expect(place.warnings).toEqual([]);
});

test('unbans are reported, and what Adonis returns stays the same', async () => {
  const { sent, result } = await runWithAdonis(`
    server.Admin.AddBan({ UserId = 50, Name = "Cheater" }, "x", true, moderator)
    server.Admin.AddTimeBan({ UserId = 51, Name = "Spammer" }, 60, "x", moderator)
    local first = server.Admin.RemoveBan({ UserId = 50 }, true)
    local second = server.Admin.RemoveTimeBan({ UserId = 51 })
    local third = server.Admin.RemoveBan({ UserId = 99 }, true)
    task.wait(5)
    return { first.UserId, second.UserId, third == nil }`);
  expect(result).toEqual([50, 51, true]);
  expect(sent('/game/unban').map(({ game_id }) => game_id)).toEqual([50, 51]);
});

test('while the API is unavailable bans wait in order, and each is sent once', async () => {
  const script = `
    server.Admin.AddBan({ UserId = 50, Name = "A" }, "x", true, moderator)
    server.Admin.RemoveBan({ UserId = 50 }, true)
    server.Admin.AddBan({ UserId = 51, Name = "B" }, "y", true, moderator)
    task.wait(600)`;
  const { requests } = await runWithAdonis(script, { downSeconds: 300 });
  const bans = requests.filter(({ url }) => /game\/(un)?ban$/.test(url));
  expect(bans.map(({ url, body }) => `${url.split('/').at(-1)} ${JSON.parse(String(body)).game_id}`)).toEqual([
    'ban 50',
    'unban 50',
    'ban 51',
  ]);
});

test('commands of staff members are logged, those of players are not', async () => {
  const { sent } = await runWithAdonis(
    `
    service.Events.CommandRan:Fire(moderator, {
      Index = "Kick", Message = ":kick Player3 spam", Args = { "Player3", "spam" }, Success = true,
      PlayerData = { Level = 100 },
    })
    service.Events.CommandRan:Fire({ UserId = 3, Name = "Player3" }, {
      Index = "Help", Message = "!help", Args = {}, Success = true, PlayerData = { Level = 0 },
    })
    service.Events.CommandRan:Fire("SYSTEM", { Index = "X", Message = "x", Args = {}, PlayerData = { Level = 900 } })
    task.wait(30)`,
  );
  expect(sent('/staff/game/action')).toEqual([
    expect.objectContaining({
      actor_game_id: 2,
      target_game_id: 3,
      action_type: 'adonis.kick',
      details: { command: ':kick Player3 spam', success: true },
    }),
  ]);
});

test('players with a staff level have sessions', async () => {
  const script = `
    levels[3] = 100
    service.Events.PlayerAdded:Fire(Players:GetPlayerByUserId(3))
    task.wait(30)`;
  const { sent } = await runWithAdonis(script);
  expect(sent('/staff/game/session/start').map(({ game_id }) => game_id)).toEqual([3]);
});

test('commands reach Adonis: messages are shown, and a lifted ban is forgotten without an echo', async () => {
  const script = `
    server.Admin.AddBan({ UserId = 50, Name = "A" }, "x", true, moderator)
    task.wait(120)
    return { shown = shown, banned = #banned }`;
  const { result, sent, api } = await runWithAdonis(script, {
    prepare: (fake) => {
      fake.send('message', { target: { game_id: 3, game_username: null }, payload: { text: 'Hello' } });
      fake.send('broadcast', { target: null, payload: { text: 'Restart soon' } });
      fake.send('unban', { target: { game_id: 50, game_username: null }, payload: {} });
    },
  });
  expect(result).toEqual({
    shown: [
      { title: 'Guild Data', text: 'Hello', count: 1 },
      { title: 'Guild Data', text: 'Restart soon', count: 1 },
    ],
    banned: 0,
  });
  expect(api.commands.map(({ acked }) => acked?.status)).toEqual(['success', 'success', 'success']);
  expect(sent('/game/unban')).toEqual([]);
});

test('without the module the plugin says so, and does nothing else', async () => {
  const place = await startPlace({ modules: [{ name: 'Plugin', source: PLUGIN }] });
  await place.clock.until(place.engine.run('require(script.Parent.Plugin)({ Server = {}, Service = {} })'));
  expect(place.warnings).toEqual(['Guild Data: there is no module GuildData in ServerScriptService']);
});
