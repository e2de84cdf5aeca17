import { randomUUID } from 'node:crypto';
import { ManualClock } from '#kit/clock.ts';
import type { Environment } from '#kit/service/config.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import demoWorld from '#local/simulators/demo-world.json' with { type: 'json' };
import { type Simulators, startSimulators } from '#local/simulators/main.ts';
import { World } from '#local/simulators/world.ts';
import { Platform } from '#platforms/fixture.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { lookupService } from '#services/lookup/service.ts';
import { connect } from '#test/network/grpc.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { callService, type ServiceResponse, testEnvironment } from '#test/system/signed-calls.ts';
import { bindingsService } from './service.ts';

/** The IDs of chat roles that every guild of the simulated platform has. */
export const OFFICER = '910000000000000001';
export const CAPTAIN = '910000000000000002';
export const DECKHAND = '910000000000000003';
export const BOOSTER = '910000000000000008';
export const HARBORMASTER = '910000000000000010';

const GUILDS = 60;
const guildId = (number: number) => String(900_000_000_000_000_000n + BigInt(number));
/** The game IDs of the players 8001 to 8100, who have rank 50 in group 501 and own game pass 601. */
const PLAYERS = Array.from({ length: 100 }, (_, index) => 8001 + index);

/**
 * Creates the data of the simulated platforms: that of the demo, but with 60 equal guilds and a hundred more players.
 */
export function bindingsWorld() {
  const [harbor] = demoWorld.chat.guilds;
  const guilds = Array.from({ length: GUILDS }, (_, index) => ({ ...harbor, id: guildId(index + 1) }));
  const players = PLAYERS.map((id) => ({
    id,
    name: `Player${id}`,
    created: '2020-01-01T00:00:00Z',
    groups: [{ group_id: 501, ranks: [50] }],
    gamepasses: [601],
  }));
  return { chat: { guilds }, game: { ...demoWorld.game, users: [...demoWorld.game.users, ...players] } };
}

export const PLAYER_MEMBERS = PLAYERS.map((gameId) => ({
  chatId: String(920_000_000_000_000_000n + BigInt(gameId)),
  gameId,
}));

/** Returns the request body to add a `group_rank` binding; `fields` replaces some of its fields. */
export const rankBinding = (fields: object = {}) => ({
  chat_role_id: OFFICER,
  binding_type: 'group_rank',
  game_group_id: 501,
  min_rank: 50,
  max_rank: 255,
  ...fields,
});

/** Returns the paths of the validation errors that a response lists. */
export const faultsOf = (response: ServiceResponse): string[] =>
  response.body.details.errors.map(({ path }: { path: string }) => path);

interface Request {
  key?: string;
  /** The replica of the bindings service to call; the first one if left out. */
  at?: RunningService;
}

/** Runs the bindings and lookup services with one clock on a real database, and simulators of both platforms. */
export class BindingsFixture {
  readonly clock = new ManualClock(Date.now());
  /** The ID of the guild that the current test uses; `nextGuild` sets a new one. */
  guild = guildId(1);
  database!: TestDatabase;
  simulators!: Simulators;
  game!: Platform;
  chat!: Platform;
  lookup!: RunningService;
  bindings!: RunningService;
  #guilds = 0;

  async start(): Promise<this> {
    const world = new World(bindingsWorld());
    [this.database, this.simulators] = await Promise.all([
      createTestDatabase(),
      startSimulators({ world, limitScale: 1000 }),
    ]);
    this.game = new Platform(this.simulators.game);
    this.chat = new Platform(this.simulators.chat);
    const { clock } = this;
    this.lookup = await startService(lookupService, testEnvironment(this.database.url), { clock });
    this.bindings = await this.startBindings();
    return this;
  }

  async stop(): Promise<void> {
    await Promise.all([this.bindings.stop(), this.lookup.stop(), this.simulators.stop()]);
    await this.database.drop();
  }

  /** Starts another replica of the bindings service, with empty caches. */
  startBindings(environment: Environment = {}): Promise<RunningService> {
    const game = ['USERS', 'GROUPS', 'INVENTORY', 'BADGES', 'APIS', 'ECONOMY'].map((host) => `GAME_${host}_URL`);
    const all = {
      ...testEnvironment(this.database.url),
      LOOKUP_GRPC_ADDRESS: this.lookup.addresses.grpc,
      ...Object.fromEntries(game.map((name) => [name, this.simulators.game])),
      GAME_API_KEY: 'test-game-key',
      CHAT_API_URL: `${this.simulators.chat}/api/v10`,
      CHAT_BOT_TOKEN: 'test-bot-token',
      CHAT_GLOBAL_RPS: '100000',
      GAME_GLOBAL_RPS: '100000',
      GAME_MEMBERSHIPS_PER_MINUTE: '100000',
      GAME_INVENTORIES_PER_MINUTE: '100000',
      ...environment,
    };
    return startService(bindingsService, all, { clock: this.clock });
  }

  /** Makes the test use another guild, which exists on the chat platform and has no role bindings. */
  nextGuild(): string {
    this.#guilds += 1;
    if (this.#guilds > GUILDS) throw new Error('the world has no more guilds');
    this.guild = guildId(this.#guilds);
    return this.guild;
  }

  /** Removes all simulated failures of the platforms, and resets their counts of calls. */
  async calm(): Promise<void> {
    await Promise.all([this.game.forget(), this.chat.forget()]);
  }

  async call(method: string, path: string, body?: unknown, { key, at = this.bindings }: Request = {}) {
    const service = { address: at.addresses.http ?? '', audience: 'bindings', clock: this.clock };
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    return callService(service, { guildId: this.guild }, { method, path, body, headers });
  }

  list = (request?: Request) => this.call('GET', '/bindings/list', undefined, request);
  add = (fields: object, request?: Request) =>
    this.call('POST', '/bindings/add', { guild_id: this.guild, ...fields }, request);
  update = (fields: object, request?: Request) => this.call('PATCH', '/bindings/update', fields, request);
  remove = (id: number | string, request?: Request) =>
    this.call('DELETE', `/bindings/remove/${id}`, undefined, request);
  test = (chatId: string, bindingId: number, request?: Request) =>
    this.call('POST', '/bindings/test', { guild_id: this.guild, chat_id: chatId, binding_id: bindingId }, request);
  validate = (fields: object, request?: Request) => this.call('POST', '/bindings/validate', fields, request);

  /** Adds a role binding and returns it. */
  async added(fields: object): Promise<{ id: number }> {
    const response = await this.add(fields);
    if (response.status !== 201) throw new Error(JSON.stringify(response.body));
    return response.body.data;
  }

  /** Returns the number of stored role bindings of the current guild. */
  async stored(): Promise<number> {
    const rows = await this.query('SELECT 1 FROM bindings.bindings WHERE guild_id = $1', [this.guild]);
    return rows.length;
  }

  query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return databaseRows(this.database.url, text, values);
  }

  /** Links the accounts of members in the current guild. */
  async link(...members: { chatId: string; gameId: number }[]): Promise<void> {
    const { client, close } = connect(LookupServiceService, 'lookup', this.lookup.addresses.grpc ?? '', this.clock);
    for (const member of members) {
      await client.createLink({
        guildId: this.guild,
        operationId: randomUUID(),
        gameUsername: 'Player',
        ...member,
      });
    }
    close();
  }
}
