import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from './clock.ts';
import { createEngine, type Engine, type EngineOptions, Universe } from './engine.ts';

async function startServers(
  count: number,
  options: EngineOptions = {},
): Promise<{ clock: VirtualClock; universe: Universe; engines: Engine[] }> {
  const clock = new VirtualClock();
  const universe = new Universe({ clock });
  const engines = await Promise.all(
    Array.from({ length: count }, async () => await createEngine({ universe, ...options })),
  );
  onTestFinished(async () => {
    await Promise.all(engines.map(async (engine) => await engine.crash()));
  });
  return { clock, universe, engines };
}

const STORE = 'local store = game:GetService("DataStoreService"):GetDataStore("bans") ';

test('values are shared by the servers of a universe and are copies', async () => {
  const { clock, engines } = await startServers(2);
  const [one, two] = engines as [Engine, Engine];
  const written = `${STORE} local value = { list = { 1, 2 }, empty = {} } store:SetAsync("k", value) value.list[1] = 9`;
  await clock.until(one.run(written));
  const read = `${STORE} return { store:GetAsync("k"), store:GetAsync("other") == nil }`;
  expect(await clock.until(two.run(read))).toEqual([{ list: [1, 2], empty: [] }, true]);
  const removed = `${STORE} return { store:RemoveAsync("k"), store:GetAsync("k") == nil }`;
  expect(await clock.until(two.run(removed))).toEqual([{ list: [1, 2], empty: [] }, true]);
});

test('GetAsync returns a cached value for four seconds', async () => {
  const { clock, engines } = await startServers(2);
  const [one, two] = engines as [Engine, Engine];
  await clock.until(one.run(`${STORE} store:SetAsync("k", 1) store:GetAsync("k")`));
  await clock.until(two.run(`${STORE} task.wait(1) store:SetAsync("k", 2)`));
  expect(await clock.until(one.run(`${STORE} return store:GetAsync("k")`))).toBe(1);
  expect(await clock.until(one.run(`${STORE} task.wait(4) return store:GetAsync("k")`))).toBe(2);
});

test('UpdateAsync of two servers loses no write, and its callback must not yield', async () => {
  const { clock, engines } = await startServers(2);
  const add = `${STORE} for _ = 1, 3 do store:UpdateAsync("count", function(old) return (old or 0) + 1 end) end`;
  await clock.until(Promise.all(engines.map(async (engine) => await engine.run(add))));
  const yielding = `${STORE} return { store:GetAsync("count"), select(2, pcall(store.UpdateAsync, store, "count", function() task.wait(1) end)) }`;
  expect(await clock.until((engines[0] as Engine).run(yielding))).toEqual([
    6,
    expect.stringContaining('Callbacks cannot yield'),
  ]);
});

test('a key that was written waits six seconds for its next write, with a warning', async () => {
  const { clock, engines } = await startServers(1);
  const [engine] = engines as [Engine];
  const source = `${STORE} local begun = os.clock() store:SetAsync("k", 1) store:SetAsync("k", 2) return os.clock() - begun`;
  const seconds = await clock.until(engine.run<number>(source));
  expect(seconds).toBeGreaterThan(6);
  expect(seconds).toBeLessThan(7.5);
  expect(engine.output[0]?.text).toContain('DataStore request was added to queue');
});

test('requests above the budget wait, and above the queue they are dropped', async () => {
  const { clock, engines } = await startServers(1);
  const [engine] = engines as [Engine];
  const source = `${STORE}
    local service = game:GetService("DataStoreService")
    local results = { before = service:GetRequestBudgetForRequestType(Enum.DataStoreRequestType.GetAsync), done = 0, dropped = 0 }
    for index = 1, 100 do
      task.spawn(function()
        if pcall(store.GetAsync, store, "k" .. index) then results.done += 1 else results.dropped += 1 end
      end)
    end
    task.wait(1)
    results.early = results.done
    task.wait(120)
    return results`;
  expect(await clock.until(engine.run(source))).toEqual({ before: 60, early: 60, done: 90, dropped: 10 });
});

test.each([
  ['store:SetAsync("k", string.rep("x", 9999))', '105: Serialized value exceeds 10000 byte limit'],
  ['store:SetAsync("k", print)', '104: Cannot store'],
  ['store:SetAsync("k", 0/0)', '104: Cannot store'],
  ['store:SetAsync("k", nil)', '104: Cannot store nil'],
  ['store:GetAsync("")', "101: Key name can't be empty"],
  ['store:GetAsync(string.rep("k", 51))', 'longer than 50 characters'],
])('%s is refused', async (call, message) => {
  const { clock, universe, engines } = await startServers(1);
  expect(universe.dataStores.maxValueBytes).toBe(4_194_304);
  universe.dataStores.maxValueBytes = 10_000;
  const source = `${STORE} return (select(2, pcall(function() ${call} end)))`;
  expect(await clock.until((engines[0] as Engine).run(source))).toContain(message);
});

test('failures are injected, and Studio needs access to API services', async () => {
  const { clock, universe, engines } = await startServers(1);
  universe.dataStores.fail = ({ operation }) =>
    operation === 'set' ? '502: API Services rejected request' : undefined;
  const source = `${STORE} return { (select(2, pcall(store.SetAsync, store, "k", 1))), store:GetAsync("k") == nil }`;
  expect(await clock.until((engines[0] as Engine).run(source))).toEqual([
    expect.stringContaining('502: API Services'),
    true,
  ]);
  const { engines: studios } = await startServers(1, { studio: true });
  await expect((studios[0] as Engine).run(STORE)).rejects.toThrow('to access DataStore');
});

const MESSAGING = 'local service = game:GetService("MessagingService") ';

test('a message arrives after a second, at every server that subscribes', async () => {
  const { clock, universe, engines } = await startServers(3);
  const subscribe = `${MESSAGING} shared.got = {}
    shared.connection = service:SubscribeAsync("wake", function(message) table.insert(shared.got, { message.Data, message.Sent }) end)`;
  for (const engine of engines.slice(0, 2)) await engine.run(subscribe);
  const sent = clock.now() / 1000;
  await (engines[2] as Engine).run(`${MESSAGING} service:PublishAsync("wake", { now = true })`);
  await clock.advance(900);
  expect(await (engines[0] as Engine).run('return #shared.got')).toBe(0);
  await clock.advance(200);
  await (engines[1] as Engine).run('shared.connection:Disconnect()');
  universe.messaging.publish('wake', '"from outside"');
  await clock.advance(1500);
  expect(await (engines[0] as Engine).run('return shared.got')).toEqual([
    [{ now: true }, sent],
    ['from outside', Math.floor(sent + 1.1)],
  ]);
  expect(await (engines[1] as Engine).run('return #shared.got')).toBe(1);
});

test('messages are lost, dropped above the limit of a topic, and refused when they are too long', async () => {
  const { clock, universe, engines } = await startServers(1);
  const [engine] = engines as [Engine];
  await engine.run(`${MESSAGING} shared.count = 0 service:SubscribeAsync("t", function() shared.count += 1 end)`);
  universe.messaging.lose = (_, message) => message === '"lost"';
  const send = (times: number, message: string) =>
    engine.run(`${MESSAGING} for _ = 1, ${times} do service:PublishAsync("t", "${message}") end`);
  await send(3, 'lost');
  await send(150, 'kept');
  await clock.advance(2000);
  // One server: 40 + 80 a minute.
  expect(await engine.run('return shared.count')).toBe(120);
  const refused = `${MESSAGING} local function refused(...) return (select(2, pcall(service.PublishAsync, service, ...))) end
    return { refused("t", string.rep("x", 1023)), refused(string.rep("t", 81), "x"), refused("", "x") }`;
  const [long, topic, empty] = await engine.run<string[]>(refused);
  expect(long).toContain('longer than 1 kB');
  expect(topic).toContain('1 to 80 characters');
  expect(empty).toContain('1 to 80 characters');
  // A server without players sends 600 requests a minute.
  await expect(send(600, 'many')).rejects.toThrow('Too many messages sent');
});

test('a server has 20 subscriptions and eight more per player; Studio has no messaging', async () => {
  const { engines } = await startServers(1);
  const [engine] = engines as [Engine];
  const count = `${MESSAGING} shared.n = shared.n or 0
    while pcall(function() service:SubscribeAsync("t" .. shared.n, print) end) do shared.n += 1 end return shared.n`;
  expect(await engine.run(count)).toBe(20);
  engine.addPlayer(1);
  expect(await engine.run(count)).toBe(28);
  const { engines: studios } = await startServers(1, { studio: true });
  await expect((studios[0] as Engine).run(`${MESSAGING} service:PublishAsync("t", "x")`)).rejects.toThrow(
    'not available in Studio',
  );
});
