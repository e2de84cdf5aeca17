import { expect, test } from 'vitest';
import type { HttpRequest } from './engine/http.ts';
import { failure, GUILD, KEY, type Result, startPlace, success } from './fixture.ts';

const recorded = () => {
  const requests: HttpRequest[] = [];
  const respond = (request: HttpRequest) => {
    requests.push(request);
    return success({ value: 1 });
  };
  return { requests, respond };
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

test('a call returns the data of the response', async () => {
  const place = await startPlace({ respond: () => success({ banned: false }, { 'x-request-id': 'abc' }) });
  expect(await place.run('return guild.api.getBanStatus({ identifier = 7001 })')).toEqual({
    ok: true,
    status: 200,
    data: { banned: false },
    request_id: 'abc',
    replayed: false,
  });
});

test('an error response becomes a failure with its code, details and request ID', async () => {
  const respond = () => failure(403, 'MISSING_SCOPE', {}, { required_scope: 'moderation:read' });
  const place = await startPlace({ respond });
  expect(await place.run('return guild.api.getBanStatus({ identifier = 7001 })')).toEqual({
    ok: false,
    status: 403,
    code: 'MISSING_SCOPE',
    message: 'Failed with MISSING_SCOPE',
    details: { code: 'MISSING_SCOPE', required_scope: 'moderation:read' },
    request_id: 'req-2',
  });
});

test('arguments go into the path, the query or the body, and the guild where the route wants it', async () => {
  const { requests, respond } = recorded();
  const place = await startPlace({ respond });
  await place.run(`
    guild.api.getBanStatus({ identifier = 7001, place_id = "4001", no_cache = true })
    guild.api.listEvents({ types = { "ban.*", "link.created" }, wait = 0 })
    guild.api.banPlayer({ game_id = 1e15, reason = "spam & more" })
    guild.api.acknowledgeCommand({ serverId = "a:b", commandId = "c/d", status = "success" })
    guild.api.removeBinding({ bindingId = 17 })`);
  expect(requests.map(({ method, url }) => `${method} ${url.slice('https://api.example.com/api/v1'.length)}`)).toEqual([
    `GET /moderation/${GUILD}/ban-status/7001?no_cache=true&place_id=4001`,
    'GET /events?types=ban.%2A,link.created&wait=0',
    `POST /moderation/${GUILD}/game/ban`,
    'POST /game/servers/a%3Ab/commands/c%2Fd/ack',
    'DELETE /bindings/remove/17',
  ]);
  expect(requests.map(({ body }) => body && JSON.parse(String(body)))).toEqual([
    undefined,
    undefined,
    { game_id: 1e15, reason: 'spam & more' },
    { guild_id: GUILD, status: 'success' },
    undefined,
  ]);
  expect(requests.map(({ headers }) => headers['X-Guild-ID'])).toEqual([
    undefined,
    GUILD,
    undefined,
    undefined,
    undefined,
  ]);
});

test('the key is sent in a header and nowhere else, and is in no line of the log', async () => {
  const { requests, respond } = recorded();
  const place = await startPlace({ respond });
  await place.run('guild.api.banPlayer({ game_id = 1, reason = "x" }) print(guild.client.config.key)');
  expect(requests.map(({ headers }) => headers['X-API-Key'])).toEqual([KEY]);
  expect(requests.filter(({ url, body }) => `${url} ${String(body)}`.includes(KEY))).toEqual([]);
  expect(place.engine.output.filter(({ text }) => text.includes(KEY))).toEqual([]);
});

test('a key in a string works too, and names the guild', async () => {
  const { requests, respond } = recorded();
  const place = await startPlace({
    respond,
    settings: `key = "${KEY}\\n", baseUrl = "https://api.example.com/api/v1/"`,
  });
  await place.run('return guild.api.getLinkByGameId({ gameId = 7001 })');
  expect(requests[0]).toMatchObject({
    url: 'https://api.example.com/api/v1/lookup/game/7001',
    headers: { 'X-API-Key': KEY, 'X-Guild-ID': GUILD },
  });
});

test('writes have an idempotency key, which is new for each call; reads have none', async () => {
  const { requests, respond } = recorded();
  const place = await startPlace({ respond });
  await place.run(`
    guild.api.banPlayer({ game_id = 1, reason = "x" })
    guild.api.banPlayer({ game_id = 1, reason = "x" })
    guild.api.banPlayer({ game_id = 1, reason = "x" }, { idempotencyKey = "mine" })
    guild.api.cancelCommand({ commandId = "x" })
    guild.api.whoami()
    guild.api.getPlayerStatuses({ game_ids = { 1 } })`);
  const keys = requests.map(({ headers }) => headers['Idempotency-Key']);
  expect(keys).toEqual([
    expect.stringMatching(UUID),
    expect.stringMatching(UUID),
    'mine',
    expect.stringMatching(UUID),
    undefined,
    undefined,
  ]);
  expect(new Set(keys.slice(0, 4)).size).toBe(4);
});

test('every request has an ID, which a failure of the network reports too', async () => {
  const place = await startPlace();
  place.engine.network.down = true;
  const result = await place.run('return guild.api.whoami(nil, { attempts = 3 })');
  const sent = place.engine.requests.map(({ headers }) => headers['X-Request-Id']);
  expect(sent).toHaveLength(3);
  expect(new Set(sent)).toEqual(new Set([result.request_id]));
  expect(result.request_id).toMatch(UUID);
});

test('null is sent where it is meant, and an empty body is an object', async () => {
  const { requests, respond } = recorded();
  const place = await startPlace({ respond });
  await place.run(`
    guild.api.syncNickname({ chat_id = "920000000000000001", nickname = GuildData.null })
    guild.api.logStaffAction({ actor_game_id = 1, action_type = "kick", action_id = "x", details = {
      none = GuildData.null, list = { 1, 2 }, nested = { text = "null" } } })
    guild.api.replayWebhook({ id = "1" })`);
  expect(requests.map(({ body }) => JSON.parse(String(body)))).toEqual([
    { guild_id: GUILD, chat_id: '920000000000000001', nickname: null },
    {
      guild_id: GUILD,
      actor_game_id: 1,
      action_type: 'kick',
      action_id: 'x',
      details: { none: null, list: [1, 2], nested: { text: 'null' } },
    },
    {},
  ]);
});

test('a replayed response is marked as such', async () => {
  const place = await startPlace({ respond: () => success({}, { 'idempotency-replayed': 'true' }) });
  expect(await place.run('return guild.api.banPlayer({ game_id = 1, reason = "x" })')).toMatchObject({
    replayed: true,
  });
});

test('arguments that cannot be sent fail without a request, and say which one', async () => {
  const place = await startPlace();
  const results = await place.run<Result[]>(`
    local circle = {}
    circle.circle = circle
    return {
      guild.api.getLinkByGameId({}),
      guild.api.getLinkByGameId(nil :: any),
      guild.api.getLinkByGameId({ gameId = 0/0 }),
      guild.api.getLinkByGameId({ gameId = {} }),
      guild.api.getServer({ serverId = ".." }),
      guild.api.listEvents({ after = print }),
      guild.api.banPlayer({ game_id = 920000000000000001, reason = "x" }),
      guild.api.banPlayer({ game_id = math.huge, reason = "x" }),
      guild.api.banPlayer({ game_id = 1, reason = "\\xff" }),
      guild.api.banPlayer({ game_id = 1, reason = print }),
      guild.api.banPlayer({ game_id = 1, details = circle }),
      guild.api.banPlayer({ game_id = 1, details = { 1, name = 2 } }),
      guild.api.banPlayer({ game_id = 1, details = { [1] = 1, [3] = 3 } }),
    }`);
  expect(results.map(({ ok, code, message }) => `${ok} ${code} ${message}`)).toEqual([
    'false INVALID_REQUEST getLinkByGameId needs gameId: a text or a number, but it is nil',
    'false INVALID_REQUEST getLinkByGameId needs gameId: a text or a number, but it is nil',
    'false INVALID_REQUEST getLinkByGameId needs gameId: a text or a number, but it is nan',
    expect.stringContaining('false INVALID_REQUEST getLinkByGameId needs gameId'),
    'false INVALID_REQUEST getServer needs serverId: a text or a number, but it is ..',
    'false INVALID_REQUEST listEvents: after is a function, which a query cannot hold',
    'false INVALID_REQUEST banPlayer: args.game_id is too large for a number: pass the ID as a string',
    'false INVALID_REQUEST banPlayer: args.game_id is not a number that JSON can hold',
    'false INVALID_REQUEST banPlayer: args.reason is not valid UTF-8',
    'false INVALID_REQUEST banPlayer: args.reason is a function, which cannot be sent',
    expect.stringContaining('is nested more than 20 deep, or contains itself'),
    expect.stringContaining('has the key 1: a table has either only names or only a list'),
    expect.stringContaining('a table has either only names or only a list without gaps'),
  ]);
  expect(place.engine.requests).toEqual([]);
});

test('nothing that a game passes makes the module throw', async () => {
  const place = await startPlace();
  const results = await place.run<string[]>(`
    local results = {}
    local values: { any } = { 5, "text", true, print, { 1, 2 }, GuildData.null, Vector3 or {} }
    local function check(what: string, callback: () -> any)
      local isDone, result = pcall(callback)
      if not isDone then
        table.insert(results, what .. " threw " .. tostring(result))
      end
    end
    for index, value in values do
      check("new " .. index, function() return GuildData.new(value) end)
      check("key " .. index, function() return GuildData.new({ key = value, guildId = value, baseUrl = value }) end)
      check("settings " .. index, function()
        return GuildData.new({ key = "k", guildId = "${GUILD}", baseUrl = "https://api.example.com", services = value,
          loops = value, timeout = value, attempts = value, requestsPerMinute = value, onLog = value }).api.whoami()
      end)
      for _, method in { "verify", "redeem", "staffJoined", "staffLeft", "permissions", "hasPermission", "logAction",
        "onCommand", "onBanned", "onChecked", "onVerify" } do
        check(method .. " " .. index, function() return (guild :: any)[method](guild, value, value) end)
        check(method, function() return (guild :: any)[method](guild) end)
      end
      check("args " .. index, function() return guild.api.banPlayer(value) end)
      check("options " .. index, function() return guild.api.banPlayer({ game_id = 1 }, value) end)
      check("option " .. index, function()
        return guild.api.banPlayer({ game_id = 1 }, { timeout = value, attempts = value, idempotencyKey = value })
      end)
    end
    check("new", function() return (GuildData :: any).new() end)
    return results`);
  expect(results).toEqual([]);
});

test('calls whose threads were cancelled give their places back', async () => {
  const place = await startPlace();
  place.engine.network.latency = 2_000;
  const results = await place.run<{ ok: boolean; refused: string }>(`
    for _ = 1, 200 do
      local thread = task.spawn(guild.api.listEvents, {})
      task.delay(0.05, task.cancel, thread)
    end
    local refused = guild.api.listEvents({})
    task.wait(90)
    return { ok = guild.api.listEvents({}).ok, refused = refused.code }`);
  expect(results).toEqual({ ok: true, refused: 'TOO_MANY_CALLS' });
  expect(place.engine.errors).toEqual([]);
});
