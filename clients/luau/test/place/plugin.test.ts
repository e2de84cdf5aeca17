import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { GUILD } from '#test/system/system.ts';
import { isPolling, World } from './world.ts';

const PATIENT = { timeout: 30_000, interval: 50 };

const TEN_LINES = `local GuildData = require(game:GetService("ServerScriptService").GuildData)
local guild = GuildData.new({ guildId = "${GUILD}", baseUrl = "BASE_URL" })
guild:onCommand("custom", function(command)
	print(command.payload.name)
end)
game:GetService("Players").PlayerAdded:Connect(function(player)
	local result = guild:verify(player)
	print(player.Name, result.ok, result.data.verified)
end)
guild:start()`;

let world: World;
beforeAll(async () => {
  world = await World.start();
});
afterAll(() => world.stop());

test('a plugin of ten lines verifies players, keeps banned ones out and runs commands', async () => {
  expect(TEN_LINES.split('\n')).toHaveLength(10);
  await world.ban(7002);
  const server = await world.server(TEN_LINES);
  server.addPlayer(7001, 'Ada');
  server.addPlayer(7002, 'Eve');
  await vi.waitFor(() => {
    expect(server.kicks).toEqual([{ userId: 7002, reason: expect.stringContaining('spam') }]);
    expect(server.output.map(({ text }) => text)).toContain('Ada true false');
  }, PATIENT);
  await vi.waitUntil(() => isPolling(server), PATIENT);
  const commandId = await world.sendCommand({ type: 'custom', all: true, payload: { name: 'open the gates' } });
  await vi.waitFor(() => {
    expect(server.output.map(({ text }) => text)).toContain('open the gates');
  }, PATIENT);
  await world.ban(7001);
  await vi.waitFor(() => {
    expect([...server.players]).toEqual([]);
  }, PATIENT);
  await server.close();
  expect(await world.states(commandId)).toEqual(new Map([[server.jobId, 'success']]));
  expect(server.errors).toEqual([]);
  expect(server.requests.filter(({ error, status }) => error !== undefined || (status ?? 0) >= 400)).toEqual([]);
});
