import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from './clock.ts';
import { createEngine, type Engine, Universe } from './engine.ts';

async function start(): Promise<{ engine: Engine; clock: VirtualClock }> {
  const clock = new VirtualClock();
  const engine = await createEngine({ universe: new Universe({ clock }) });
  onTestFinished(() => engine.crash());
  return { engine, clock };
}

test('task.spawn runs at once, task.defer after the caller has yielded, task.delay after its time', async () => {
  const { engine, clock } = await start();
  const order = await clock.until(
    engine.run(`
      local order = {}
      local function note(text) table.insert(order, text) end
      task.delay(2, note, "delayed 2")
      task.delay(1, note, "delayed 1")
      task.defer(note, "deferred")
      task.spawn(note, "spawned")
      note("caller")
      task.wait(3)
      return order`),
  );
  expect(order).toEqual(['spawned', 'caller', 'deferred', 'delayed 1', 'delayed 2']);
});

test('task.wait yields for at least its time and returns what has passed; an hour passes at once', async () => {
  const { engine, clock } = await start();
  const result = await clock.until(
    engine.run<number[]>(
      'local a = task.wait() local begun = os.clock() local b = task.wait(3600) return { a, b, os.clock() - begun }',
    ),
    4_000_000,
  );
  expect(result[0]).toBeCloseTo(1 / 60, 3);
  expect(result[1]).toBeCloseTo(3600, 3);
  expect(result[2]).toBeCloseTo(3600, 3);
});

test('task.cancel ends a waiting thread, and a thread cannot cancel itself', async () => {
  const { engine, clock } = await start();
  const result = await clock.until(
    engine.run(`
      local ran = false
      local thread = task.delay(1, function() ran = true end)
      task.cancel(thread)
      task.wait(2)
      return { ran = ran, status = coroutine.status(thread), own = { pcall(task.cancel, coroutine.running()) } }`),
  );
  expect(result).toEqual({ ran: false, status: 'dead', own: [false, 'cannot cancel thread'] });
});

test('a thread that has ended, or that runs, cannot be resumed by the scheduler', async () => {
  const { engine, clock } = await start();
  const result = await clock.until(
    engine.run<[boolean, string][]>(`
      local ended = task.spawn(function() end)
      local cancelled = task.spawn(coroutine.yield)
      task.cancel(cancelled)
      return {
        { pcall(task.spawn, ended, 1) },
        { pcall(task.spawn, cancelled) },
        { pcall(task.spawn, coroutine.running()) },
        { pcall(task.defer, ended) },
        { pcall(task.delay, 1, ended) },
      }`),
  );
  expect(result.map(([succeeded]) => succeeded)).toEqual(Array(5).fill(false));
  expect(new Set(result.map(([, text]) => text))).toEqual(
    new Set(['cannot spawn non-suspended coroutine with arguments']),
  );
});

test('threads that yield inside pcall and coroutine.wrap are resumed by the scheduler', async () => {
  const { engine, clock } = await start();
  const result = await clock.until(
    engine.run(`
      local caught = { pcall(function() task.wait(1) error("later", 0) end) }
      local inner = coroutine.create(function() task.wait(1) return "done" end)
      coroutine.resume(inner)
      local suspended = coroutine.status(inner)
      task.wait(2)
      return { caught, suspended, coroutine.status(inner) }`),
  );
  expect(result).toEqual([[false, 'later'], 'suspended', 'dead']);
});

test('an error in a thread does not end others; it is recorded with its place', async () => {
  const { engine, clock } = await start();
  const result = await clock.until(
    engine.run('task.spawn(function()\n  error("boom")\nend)\ntask.wait(1)\nreturn "still here"', 'Main'),
  );
  expect(result).toBe('still here');
  expect(engine.errors).toHaveLength(1);
  expect(engine.errors[0]).toContain('ServerScriptService.Main:2: boom');
});

test('signals deliver after the code that fires them; Once and Disconnect end a connection', async () => {
  const { engine, clock } = await start();
  await engine.run(`
    local Players = game:GetService("Players")
    shared.seen = {}
    Players.PlayerAdded:Once(function(player) table.insert(shared.seen, "once " .. player.Name) end)
    local connection
    connection = Players.PlayerAdded:Connect(function(player)
      table.insert(shared.seen, player.Name)
      if player.Name == "b" then connection:Disconnect() end
    end)
    task.spawn(function() table.insert(shared.seen, "waited " .. Players.PlayerAdded:Wait().Name) end)`);
  for (const [index, name] of ['a', 'b', 'c'].entries()) {
    engine.addPlayer(index + 1, name);
    await clock.advance(10);
  }
  expect(await engine.run('return shared.seen')).toEqual(['once a', 'a', 'waited a', 'b']);
});

test('Heartbeat fires about 60 times a second while a script listens', async () => {
  const { engine, clock } = await start();
  await engine.run(`
    shared.frames = 0
    shared.connection = game:GetService("RunService").Heartbeat:Connect(function() shared.frames += 1 end)`);
  await clock.advance(1000);
  const frames = await engine.run<number>('shared.connection:Disconnect() return shared.frames');
  expect(frames).toBeGreaterThan(57);
  expect(frames).toBeLessThan(61);
  await clock.advance(1000);
  expect(await engine.run<number>('return shared.frames')).toBeLessThanOrEqual(frames + 1);
});

test('os.time, os.clock and DateTime follow the clock', async () => {
  const { engine, clock } = await start();
  await clock.advance(1500);
  const source = `local now = DateTime.now()
    return { os.time(), now.UnixTimestampMillis, now:ToIsoDate(), DateTime.fromIsoDate("2026-01-01T00:00:01.250Z").UnixTimestampMillis,
      typeof(now), DateTime.fromIsoDate("soon") == nil, os.date("!%H:%M:%S") }`;
  const start2026 = Date.parse('2026-01-01T00:00:00Z');
  expect(await engine.run(source)).toEqual([
    start2026 / 1000 + 1,
    start2026 + 1500,
    '2026-01-01T00:00:01.500Z',
    start2026 + 1250,
    'DateTime',
    true,
    '00:00:01',
  ]);
});
