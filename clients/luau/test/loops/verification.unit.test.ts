import { expect, test } from 'vitest';
import { newPlace, type Place } from './place.ts';

const STATUS = '/lookup/status';
const REDEEM = '/verification/redeem';
const LINK = { chat_id: '920000000000000005', game_id: 7005, game_username: 'EstherRows', verified: true };

const verify = (id: number) => `guild:verify(game.Players:GetPlayerByUserId(${id}))`;

async function newServer(place: Place, before = '') {
  const server = await place.server({ before, settings: 'loops = { joins = false, bans = false }' });
  for (const id of [7001, 7005, 7006]) server.addPlayer(id, id === 7005 ? 'EstherRows' : `Player${id}`);
  await place.seconds(1);
  return server;
}

test('a verified player has a link, and players asked about together share a request', async () => {
  const place = newPlace();
  place.api.linked.set(7005, LINK);
  const server = await newServer(place);
  const source = `
    local answers, waiting = {}, 3
    for _, id in { 7001, 7005, 7006 } do
      task.spawn(function()
        local result = guild:verify(game.Players:GetPlayerByUserId(id))
        answers[tostring(id)] = { result.ok, result.data.verified, result.data.link or false }
        waiting -= 1
      end)
    end
    while waiting > 0 do task.wait() end
    return answers`;
  const expected = { 7001: [true, false, false], 7005: [true, true, LINK], 7006: [true, false, false] };
  expect(await place.run(server, source)).toEqual(expected);
  expect(await place.run(server, source)).toEqual(expected);
  expect(place.api.callsOf(STATUS)).toHaveLength(1);
});

test('the prompt redeems the code that the player enters', async () => {
  const place = newPlace();
  const before = 'guild:onVerify(function(player, prompt) _G.prompt = prompt; _G.shownTo = player.UserId end)';
  const server = await newServer(place, before);
  expect(await place.run(server, `return ${verify(7005)}.data.prompt.title`)).toBe('Verify your account');
  expect(await place.run(server, 'return _G.shownTo')).toBe(7005);
  const wrong = await place.run(server, 'local result = _G.prompt.submit("WRONG"); return { result.ok, result.code }');
  expect(wrong).toEqual([false, 'NOT_FOUND']);
  expect(await place.run(server, 'return _G.prompt.submit("H7KM4PRX").data')).toEqual({ verified: true, link: LINK });
  expect(await place.run(server, `return ${verify(7005)}.data.verified`)).toBe(true);
  expect(place.api.callsOf(REDEEM).at(-1)?.body).toMatchObject({ code: 'H7KM4PRX', game_username: 'EstherRows' });
});

test('a player may try five codes a minute, and what is not a code is not sent', async () => {
  const place = newPlace();
  const server = await newServer(place);
  const redeem = (code: string) => `
    local result = guild:redeem(game.Players:GetPlayerByUserId(7001), ${code})
    return { result.ok, result.code, result.retry_after or 0 }`;
  for (const code of ['nil', '12', '""', '"--"']) {
    expect(await place.run(server, redeem(code))).toEqual([false, 'INVALID_REQUEST', 0]);
  }
  for (let count = 0; count < 5; count++) await place.run(server, redeem('"WRONG"'));
  expect(await place.run(server, redeem('"H7KM4PRX"'))).toEqual([false, 'RATE_LIMITED', expect.any(Number)]);
  expect(place.api.callsOf(REDEEM)).toHaveLength(5);
  await place.seconds(61);
  expect(await place.run(server, redeem('"H7KM4PRX"'))).toMatchObject([true]);
});

test('a failure is returned, and the next call asks again', async () => {
  const place = newPlace();
  const server = await newServer(place);
  server.network.down = true;
  expect(await place.run(server, `return ${verify(7001)}.ok`)).toBe(false);
  server.network.down = false;
  await place.seconds(5);
  expect(await place.run(server, `return ${verify(7001)}.ok`)).toBe(true);
});

test('what is no user ID fails by itself, and the players who were asked about with it get their answer', async () => {
  const place = newPlace();
  place.api.linked.set(7005, LINK);
  const server = await newServer(place);
  const codes = await place.run(
    server,
    `local codes = {}
    for _, id in { -1, 0, 1.5, 0 / 0, math.huge, "x" } do
      task.spawn(function() table.insert(codes, guild:verify({ UserId = id, Name = "x" }).code) end)
    end
    table.insert(codes, tostring(${verify(7005)}.data.verified))
    return codes`,
  );
  expect(codes).toEqual([...Array.from({ length: 6 }, () => 'INVALID_REQUEST'), 'true']);
  expect(place.api.callsOf(STATUS).map(({ body }) => body.game_ids)).toEqual([[7005]]);
});

test('a cancelled thread does not disturb others, and after the end verify fails at once', async () => {
  const place = newPlace();
  const server = await newServer(place);
  const cancelled = await place.run(
    server,
    `local thread = task.spawn(function() ${verify(7001)} end)
    task.wait(0.1)
    task.cancel(thread)
    return ${verify(7005)}.ok`,
  );
  expect(cancelled).toBe(true);
  expect(await place.run(server, `guild:stop() return ${verify(7006)}.code`)).toBe('TOO_MANY_CALLS');
});
