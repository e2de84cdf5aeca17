import { expect, onTestFinished, test } from 'vitest';
import { amount } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { seededRandom } from '#test/random.ts';
import type { Engine } from '../engine/engine.ts';
import { usage } from './limits.ts';
import { SimulatedPlace } from './simulated-place.ts';
import { runsOf } from './world.ts';

// Time is simulated, and so is what the services do; the module, the limiter, the route table and the engine's limits
// are real. An hour takes a few minutes.
const MINUTES = amount(2, 60);
// At 60 servers the API asks for the shortest interval between heartbeats, so that each may send most.
const SERVERS = amount(20, 60);
const PLAYERS = 25 * SERVERS;
/** Servers neither open nor close in the same instant: then each would send its first requests before it knows a limit. */
const BETWEEN_SERVERS_MS = 2_000;
const FIRST_PLAYER = 10_000;

test(`${MINUTES} minutes of play: no call is rejected because of a rate limit`, async () => {
  const place = new SimulatedPlace();
  onTestFinished(() => place.end());
  const game = new Game(place);
  for (let index = 0; index < SERVERS; index++) {
    await game.openServer();
    await place.clock.advance(BETWEEN_SERVERS_MS);
  }
  for (let minute = 0; minute < MINUTES; minute++) await game.minute(minute);
  await place.clock.advance(60_000);
  for (const engine of place.servers) {
    await place.close(engine);
    await place.clock.advance(BETWEEN_SERVERS_MS);
  }

  for (const { name, most, limit } of usage(place.everyServer)) {
    printFigure(
      `${MINUTES} minutes, ${SERVERS} servers, ${PLAYERS} players: ${name} in a minute`,
      `${most} of ${limit}`,
    );
    expect(most).toBeLessThanOrEqual(limit);
  }
  expect(Object.fromEntries(place.gateway.rejections)).toEqual({});
  const requests = place.everyServer.flatMap((engine) => engine.requests);
  expect(requests.filter(({ status, error }) => status === 429 || error !== undefined)).toEqual([]);
  expect(place.everyServer.flatMap(({ errors }) => errors)).toEqual([]);
  expect(game.losses()).toEqual({ actions: [], commands: [], banned: [] });
  expect(place.guild.commands.length).toBeGreaterThanOrEqual(4 * MINUTES);
}, 600_000);

/** Players who come and go, moderators at work, and servers that are opened and closed. */
class Game {
  readonly #place: SimulatedPlace;
  readonly #random = seededRandom(7);
  readonly #actions: string[] = [];
  readonly #crashed = new Set<Engine>();
  #nextPlayer = FIRST_PLAYER;

  constructor(place: SimulatedPlace) {
    this.#place = place;
  }

  async openServer(): Promise<void> {
    const engine = await this.#place.start();
    for (let index = 0; index < PLAYERS / SERVERS; index++) engine.addPlayer(this.#nextPlayer++);
  }

  async minute(minute: number): Promise<void> {
    const { clock, guild, servers } = this.#place;
    for (let second = 0; second < 60; second += 2) {
      for (let joins = 0; joins < SERVERS / 20; joins++) this.#replacePlayer(this.#pick([...servers]));
      if (second % 20 === 0) guild.send({ ttl: 600 });
      if (second % 30 === 10) guild.ban(this.#pick([...this.#pick([...servers]).players]));
      if (second % 4 === 0) this.#actions.push(await this.#place.logAction(this.#pick([...servers])));
      await clock.advance(2000);
    }
    if (minute % 3 === 1) await this.#replaceServer(minute % 2 === 0);
  }

  /** Actions that did not arrive, commands that were not run once, and banned players who are in the game. */
  losses(): { actions: string[]; commands: object[]; banned: number[] } {
    const { guild, everyServer } = this.#place;
    const commands = [];
    for (const command of guild.commands) {
      for (const [serverId, { status }] of command.servers) {
        const engine = everyServer.find(({ jobId }) => jobId === serverId) as Engine;
        const runs = command.type === 'custom' ? (runsOf(engine).get(command.id) ?? 0) : 1;
        if (!this.#crashed.has(engine) && (status === undefined || runs !== 1))
          commands.push({ serverId, status, runs });
      }
    }
    const playing = everyServer.flatMap(({ players }) => [...players]);
    return {
      actions: this.#actions.filter((id) => !guild.actions.has(id)),
      commands,
      banned: playing.filter((gameId) => guild.bans.has(gameId)),
    };
  }

  #replacePlayer(engine: Engine): void {
    const [leaving] = engine.players;
    if (leaving !== undefined) engine.removePlayer(leaving);
    engine.addPlayer(this.#nextPlayer++);
  }

  async #replaceServer(crashes: boolean): Promise<void> {
    const engine = this.#pick([...this.#place.servers]);
    if (crashes) {
      this.#crashed.add(engine);
      await this.#place.crash(engine);
    } else {
      await this.#place.close(engine);
    }
    await this.openServer();
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T;
  }
}
