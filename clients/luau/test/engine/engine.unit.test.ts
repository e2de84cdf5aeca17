import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from './clock.ts';
import { createEngine, type Engine, type EngineOptions, Universe } from './engine.ts';

async function start(options: EngineOptions = {}): Promise<Engine> {
  const engine = await createEngine(options);
  onTestFinished(() => engine.crash());
  return engine;
}

test('a script runs typed Luau and returns a value', async () => {
  const engine = await start();
  const source = `--!strict
    type Point = { x: number, y: number }
    local point: Point = { x = 1, y = 2 }
    print("point", point.x, nil)
    warn("careful")
    return { sum = point.x + point.y, list = { 1, 2 }, caught = { pcall(error, "no") } }`;
  expect(await engine.run(source)).toEqual({ sum: 3, list: [1, 2], caught: [false, 'no'] });
  expect(engine.output).toEqual([
    { level: 'print', text: 'point 1 nil' },
    { level: 'warn', text: 'careful' },
  ]);
});

test('a syntax error and an uncaught error reject with their place', async () => {
  const engine = await start();
  await expect(engine.run('local x: = 1', 'Broken')).rejects.toThrow('ServerScriptService.Broken:1');
  await expect(engine.run('\nlocal x = nil\nreturn x.y', 'Failing')).rejects.toThrow('Failing:3: attempt to index nil');
});

test('modules are required through script.Parent, run once, and may yield', async () => {
  const engine = await start({
    modules: [
      {
        name: 'Library',
        source:
          'local Child = require(script.Child) task.wait(0.01) return { name = script:GetFullName(), child = Child }',
        children: [
          { name: 'Child', source: 'shared.loads = (shared.loads or 0) + 1 return require(script.Parent.loops.Deep)' },
          { name: 'loops', children: [{ name: 'Deep', source: 'return script.Parent.Parent.Name' }] },
        ],
      },
    ],
  });
  const source = `local library = game:GetService("ServerScriptService").Library
    local both = {}
    task.spawn(function() both[2] = require(library) end)
    both[1] = require(library)
    require(library.Child)
    task.wait()
    return { both[1], both[1] == both[2], shared.loads, library.ClassName, library.loops.ClassName, library:FindFirstChild("None") == nil }`;
  const expected = { name: 'ServerScriptService.Library', child: 'Library' };
  expect(await engine.run(source)).toEqual([expected, true, 1, 'ModuleScript', 'Folder', true]);
});

test('a module that fails, returns nothing or requires itself raises an error in the requirer', async () => {
  const engine = await start({
    modules: [
      { name: 'Fails', source: '\nerror("bad start")' },
      { name: 'Empty', source: 'local x = 1' },
      { name: 'First', source: 'return require(script.Parent.Second)' },
      { name: 'Second', source: 'return require(script.Parent.First)' },
    ],
  });
  const messages = await engine.run<string[]>(`local messages = {}
    for _, name in { "Fails", "Empty", "First" } do
      local _, message = pcall(require, game.ServerScriptService[name])
      table.insert(messages, message)
    end
    return messages`);
  for (const message of messages) expect(message).toContain('Requested module experienced an error while loading');
  expect(engine.errors[0]).toContain('ServerScriptService.Fails:2: bad start');
  expect(engine.errors[1]).toContain('did not return exactly one value');
  expect(engine.errors.join()).toContain('Requested module was required recursively');
});

test('instances are locked userdata with their own typeof; unknown members and services raise errors', async () => {
  const engine = await start();
  const source = `local Players = game:GetService("Players")
    return { type(game), typeof(game), typeof(Players.PlayerAdded), typeof({}), getmetatable(game),
      (select(2, pcall(function() return Players.Nothing end))), (select(2, pcall(function() Players.Name = "x" end))),
      (select(2, pcall(game.GetService, game, "Nothing"))), (select(2, pcall(Players.GetPlayers))) }`;
  const result = await engine.run<string[]>(source);
  expect(result.slice(0, 5)).toEqual(['userdata', 'Instance', 'RBXScriptSignal', 'table', 'The metatable is locked']);
  expect(result[5]).toContain('Nothing is not a valid member of Players');
  expect(result[6]).toContain('Unable to assign property Name');
  expect(result[7]).toContain("'Nothing' is not a valid Service name");
  expect(result[8]).toContain("Expected ':' not '.' calling member function GetPlayers");
});

test('game names the server; in Studio the job ID is empty', async () => {
  const identity =
    'return { game.JobId, game.PlaceId, game.GameId, game.PlaceVersion, game.PrivateServerId, game:GetService("RunService"):IsStudio() }';
  const universe = new Universe({ id: 77 });
  const live = await start({ universe, game: { PlaceId: 5, PlaceVersion: 12 } });
  expect(live.jobId).toMatch(/^[0-9a-f-]{36}$/);
  expect(await live.run(identity)).toEqual([live.jobId, 5, 77, 12, '', false]);
  const studio = await start({ universe, studio: true });
  expect(await studio.run(identity)).toEqual(['', 1, 77, 1, '', true]);
});

test('players join, leave and are kicked', async () => {
  const engine = await start();
  await engine.run(`
    local Players = game:GetService("Players")
    shared.log = {}
    Players.PlayerAdded:Connect(function(player)
      table.insert(shared.log, "added " .. player.UserId)
      if player.UserId == 2 then player:Kick("You are banned") end
    end)
    Players.PlayerRemoving:Connect(function(player)
      table.insert(shared.log, "removing " .. player.Name .. " " .. tostring(player:IsDescendantOf(Players)))
    end)`);
  engine.addPlayer(1, 'One');
  engine.addPlayer(2, 'Two');
  engine.removePlayer(1);
  const source = `local Players = game:GetService("Players")
    task.wait(0.1)
    return { shared.log, #Players:GetPlayers(), Players:GetPlayerByUserId(2) == nil }`;
  const log = ['added 1', 'added 2', 'removing One true', 'removing Two true'];
  expect(await engine.run(source)).toEqual([log, 0, true]);
  expect([...engine.players]).toEqual([]);
  expect(engine.kicks).toEqual([{ userId: 2, reason: 'You are banned' }]);
});

test('functions bound with BindToClose run at the same time, after the players have left, for at most 30 seconds', async () => {
  const clock = new VirtualClock();
  const universe = new Universe({ clock });
  const bind = `shared.log = {}
    game:GetService("Players").PlayerRemoving:Connect(function() table.insert(shared.log, "left") end)
    game:BindToClose(function() task.wait(2) table.insert(shared.log, "slow") print(table.concat(shared.log, ",")) end)
    game:BindToClose(function() table.insert(shared.log, "fast") end)`;
  const quick = await start({ universe });
  await quick.run(bind);
  quick.addPlayer(1);
  const begun = clock.now();
  await clock.until(quick.close());
  expect(quick.output.at(-1)?.text).toBe('left,fast,slow');
  expect(clock.now() - begun).toBeGreaterThan(2000);
  expect(clock.now() - begun).toBeLessThan(2500);

  const endless = await start({ universe });
  await endless.run('game:BindToClose(function() while true do task.wait(1) print("tick") end end)');
  const closing = clock.now();
  await clock.until(endless.close());
  expect(clock.now() - closing).toBe(30_000);
  const ticks = endless.output.length;
  await clock.advance(10_000);
  expect(endless.output).toHaveLength(ticks);
});

test('a crash ends the server without BindToClose', async () => {
  const engine = await start();
  await engine.run('game:BindToClose(function() print("closing") end)');
  const waiting = engine.run('task.wait(60)');
  const outcome = Promise.allSettled([waiting]);
  await engine.crash();
  const [{ status }] = await outcome;
  expect(status).toBe('rejected');
  expect(engine.output).toEqual([]);
});

test('Random stays within its range and repeats with its seed', async () => {
  const engine = await start();
  const source = `local a, b, whole = Random.new(7), Random.new(7), {}
    for _ = 1, 200 do
      local x = a:NextNumber(2, 3)
      assert(x == b:NextNumber(2, 3) and x >= 2 and x <= 3)
      whole[a:NextInteger(1, 3)] = true
      b:NextInteger(1, 3)
    end
    return { #whole, whole[0] == nil, whole[4] == nil }`;
  expect(await engine.run(source)).toEqual([3, true, true]);
});
