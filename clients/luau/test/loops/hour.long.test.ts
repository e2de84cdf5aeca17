import { expect, test } from 'vitest';
import { amount } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import type { Engine } from '../engine/engine.ts';
import { newPlace, type Place } from './place.ts';

const SERVERS = amount(6, 60);
const MINUTES = amount(10, 60);
/** Players who join a server in a minute; each stays for 20 minutes, so that 25 play. */
const JOINS = 1.25;
const STAY_MINUTES = 20;
const SLOTS = 30;

const PLUGIN = `
  _G.ran = {}
  guild:onCommand("custom", function(command) table.insert(_G.ran, command.payload.number) end)
  game:GetService("Players").PlayerAdded:Connect(function(player) guild:verify(player) end)`;

/** One minute on a server: players come and go, staff members act, and systems of the guild send commands. */
async function play(place: Place, server: Engine, minute: number): Promise<void> {
  const joins = Math.floor(JOINS) + (Math.random() < JOINS % 1 ? 1 : 0);
  for (let count = 0; count < joins; count++) {
    const id = 1_000_000 + Math.floor(Math.random() * 1_000_000_000);
    server.addPlayer(id);
    place.clock.schedule(place.clock.now() + STAY_MINUTES * 60_000, () => server.removePlayer(id));
  }
  place.api.send('custom', { server: server.jobId, payload: { number: minute } });
  await place.run(server, 'guild:logAction({ actor = 9001, target = 1, action_type = "warn" })');
}

test('over an hour of play no request is rejected because of a rate limit', { timeout: 1_800_000 }, async () => {
  const place = newPlace();
  const { limits } = place.api;
  place.api.interval = Math.max(15, Math.ceil(SERVERS / 4));
  for (let id = 1; id <= 250; id++) place.api.ban(id);
  const settings = 'loops = { staff = { isStaff = function(player) return player.UserId % 20 == 0 end } }';
  const servers: Engine[] = [];
  for (let index = 0; index < SERVERS; index++) {
    servers.push(await place.server({ before: PLUGIN, settings }));
    await place.seconds(amount(1, 2));
  }
  for (let minute = 0; minute < MINUTES; minute++) {
    // A command for all servers at the same moment; everything else happens on each server at a time of its own.
    for (const server of servers) place.api.send('custom', { server: server.jobId, payload: { number: -minute - 1 } });
    const slots = servers.map(() => Math.floor(Math.random() * SLOTS));
    for (let slot = 0; slot < SLOTS; slot++) {
      for (const [index, server] of servers.entries()) if (slots[index] === slot) await play(place, server, minute);
      await place.seconds(60 / SLOTS);
    }
  }
  await place.seconds(120);

  for (const [category, peak] of limits.peaks) printFigure(`${category}, most in a minute`, String(peak));
  expect(limits.rejected).toEqual([]);
  const sent = place.api.commands.length;
  expect(place.api.commands.filter(({ acked }) => acked?.status === 'success')).toHaveLength(sent);
  for (const server of servers) {
    const ran = await place.run<number[]>(server, 'return _G.ran');
    expect(ran).toHaveLength(2 * MINUTES);
    expect(new Set(ran).size).toBe(2 * MINUTES);
  }
  expect(place.api.actions.size).toBe(SERVERS * MINUTES);
});
