import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { vi } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Environment } from '#kit/service/config.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import { type Simulators, startSimulators } from '#local/simulators/main.ts';
import type { World } from '#local/simulators/world.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { bindingsService } from '#services/bindings/service.ts';
import { lookupService } from '#services/lookup/service.ts';
import { connect } from '#test/network/grpc.ts';
import { PATIENCE } from '#test/patience.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { DatabaseTime } from '#test/postgres/database-time.ts';
import { bundledProgram } from '#test/system/app.ts';
import { type ReplicaProcess, startReplicaProcess } from '#test/system/replica-process.ts';
import { callService, type ServiceResponse, testEnvironment } from '#test/system/signed-calls.ts';
import { membersService } from './service.ts';

export const GUILD = '900000000000000001';
export const OTHER_GUILD = '900000000000000002';

/**
 * Returns IDs of accounts that no other test of the file uses. The simulated game platform does not know the game
 * account.
 */
export function newAccounts(): { chatId: string; gameId: number } {
  const number = ++lastAccount;
  return { chatId: String(930000000000000000n + BigInt(number)), gameId: 1_000_000 + number };
}
let lastAccount = 0;

/** Returns the HTTP statuses of the responses, in ascending order. */
export function statusesOf(responses: ServiceResponse[]): number[] {
  return responses.map(({ status }) => status).sort((a, b) => a - b);
}

/** Returns the port of an address `host:port`. */
export const portOf = (address = '') => Number(address.split(':').at(-1));

interface Request {
  body?: unknown;
  key?: string;
  guildId?: string;
  /** The replica of the members service to call; the first one if left out. */
  at?: RunningService;
}

interface FixtureOptions {
  world?: World;
  limitScale?: number;
  members?: Environment;
  bindings?: Environment;
}

/**
 * Runs the services members, bindings and lookup with one clock on a real database, and simulators of the platforms.
 */
export class MembersFixture {
  readonly clock = new ManualClock(Date.now());
  database!: TestDatabase;
  /** Controls the database's clock, which determines leases, locks and due times. */
  time!: DatabaseTime;
  simulators!: Simulators;
  lookup!: RunningService;
  bindings!: RunningService;
  members!: RunningService;
  #client: Client | undefined;
  #shiftMs = 0;

  /**
   * `world` is the data of the simulated platforms; by default that of the demo. `limitScale` multiplies
   * the platforms' rate limits. `members` and `bindings` are variables of these services.
   */
  async start({ world, limitScale = 1000, members = {}, bindings = {} }: FixtureOptions = {}): Promise<this> {
    const simulators = startSimulators({ limitScale, ...(world && { world }) });
    [this.database, this.simulators] = await Promise.all([createTestDatabase(), simulators]);
    this.time = await DatabaseTime.control(this.database.url);
    this.lookup = await this.startLookup();
    this.bindings = await this.startBindings(bindings);
    this.members = await this.startMembers(members);
    return this;
  }

  async stop(): Promise<void> {
    await this.#client?.end();
    await Promise.all([this.members.stop(), this.bindings.stop(), this.lookup.stop(), this.simulators.stop()]);
    await this.database.drop();
  }

  /** Advances the clocks of the services and of the database. */
  async advance(milliseconds: number): Promise<void> {
    this.clock.advance(milliseconds);
    await this.time.advance(milliseconds);
    this.#shiftMs += milliseconds;
  }

  /** Returns the database's time in Unix milliseconds. */
  async databaseNow(): Promise<number> {
    const [row] = await this.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now');
    return Number(row?.['now']);
  }

  /** Sets the clocks of the services and of the database back to the real time, which child processes use. */
  async returnToRealTime(): Promise<void> {
    await this.time.advance(-this.#shiftMs);
    this.#shiftMs = 0;
    this.clock.advance(Date.now() - this.clock.now());
  }

  /** Stops the lookup service, so that calls to it fail. */
  stopLookup(): Promise<void> {
    return this.lookup.stop();
  }

  /** Starts the lookup service again on the same port. */
  async restartLookup(): Promise<void> {
    this.lookup = await this.startLookup({ GRPC_PORT: String(portOf(this.lookup.addresses.grpc)) });
  }

  startLookup(environment: Environment = {}): Promise<RunningService> {
    const { clock } = this;
    return startService(lookupService, { ...testEnvironment(this.database.url), ...environment }, { clock });
  }

  /** Starts the members service as a child process, which can be killed, and waits until the process is ready. */
  async startMembersProcess(environment: Environment = {}): Promise<ReplicaProcess> {
    return startReplicaProcess(await bundledProgram('members'), { ...this.environment(), ...environment });
  }

  startBindings(environment: Environment = {}): Promise<RunningService> {
    return startService(bindingsService, { ...this.#platforms(), ...environment }, { clock: this.clock });
  }

  /** Returns the environment variables of a replica of the members service. */
  environment(): Environment {
    return { ...this.#platforms(), BINDINGS_GRPC_ADDRESS: this.bindings.addresses.grpc };
  }

  #platforms(): Environment {
    const hosts = ['USERS', 'GROUPS', 'INVENTORY', 'BADGES', 'APIS', 'ECONOMY'].map((host) => `GAME_${host}_URL`);
    return {
      ...testEnvironment(this.database.url),
      LOOKUP_GRPC_ADDRESS: this.lookup.addresses.grpc,
      ...Object.fromEntries(hosts.map((name) => [name, this.simulators.game])),
      GAME_API_KEY: 'test-game-key',
      CHAT_API_URL: `${this.simulators.chat}/api/v10`,
      CHAT_BOT_TOKEN: 'test-bot-token',
      CHAT_GLOBAL_RPS: '100000',
      // Tests change the members of the simulated platform and expect the result at once.
      CHAT_MIRROR_TTL_SECONDS: '0',
      GAME_GLOBAL_RPS: '100000',
      GAME_MEMBERSHIPS_PER_MINUTE: '100000',
      GAME_INVENTORIES_PER_MINUTE: '100000',
    };
  }

  startMembers(environment: Environment = {}, log?: Logger): Promise<RunningService> {
    return startService(membersService, { ...this.environment(), ...environment }, { clock: this.clock, log });
  }

  get = (path: string, request: Request = {}) => this.#call('GET', path, request);
  post = (path: string, body: unknown, request: Request = {}) => this.#call('POST', path, { body, ...request });
  patch = (path: string, body: unknown, request: Request = {}) => this.#call('PATCH', path, { body, ...request });

  #call(
    method: string,
    path: string,
    { body, key, guildId = GUILD, at = this.members }: Request,
  ): Promise<ServiceResponse> {
    const service = { address: at.addresses.http ?? '', audience: 'members', clock: this.clock };
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    return callService(service, { guildId }, { method, path, body, headers });
  }

  /** Creates a verification token and its code through the REST API. */
  async token(chatId: string, fields: object = {}): Promise<{ token: string; code: string; expires_at: number }> {
    const response = await this.post('/verification/tokens', { guild_id: GUILD, chat_id: chatId, ...fields });
    return response.body.data;
  }

  redeem = (secret: object, gameId: number, request: Request = {}) =>
    this.post(
      '/verification/redeem',
      { guild_id: GUILD, ...secret, game_id: gameId, game_username: 'Player' },
      request,
    );

  link = (chatId: string, gameId: number, request: Request = {}) =>
    this.post(
      '/verification/link',
      { guild_id: GUILD, chat_id: chatId, game_id: gameId, game_username: 'Player' },
      request,
    );

  unlink = (account: object, request: Request = {}) =>
    this.post('/verification/unlink', { guild_id: GUILD, ...account }, request);

  /** Inserts a role binding to a rank directly into the database of the bindings service. */
  async bindRank(chatRoleId: string, ranks: { min: number; max?: number; groupId?: number }, guildId = GUILD) {
    await this.query(
      `INSERT INTO bindings.bindings (guild_id, chat_role_id, type, game_group_id, min_rank, max_rank, created_at, updated_at)
       VALUES ($1, $2, 'group_rank', $3, $4, $5, now(), now())`,
      [guildId, chatRoleId, ranks.groupId ?? 501, ranks.min, ranks.max ?? 255],
    );
  }

  /** Returns the link of a chat account, as the lookup service has stored it. */
  linkOf(chatId: string): Promise<{ chatId: string; gameId: number } | undefined> {
    return this.#withLookup(async (lookup) => {
      const { links } = await lookup.getLinks({ guildId: GUILD, chatIds: [chatId], gameIds: [] });
      return links[0];
    });
  }

  /** Creates a link directly in the lookup service, without the members service. */
  linkPastMembers(chatId: string, gameId: number, guildId = GUILD): Promise<unknown> {
    const link = { chatId, gameId, gameUsername: 'Player' };
    return this.#withLookup((lookup) => lookup.createLink({ guildId, operationId: randomUUID(), ...link }));
  }

  async #withLookup<Result>(
    work: (lookup: GrpcClient<typeof LookupServiceService>) => Promise<Result>,
  ): Promise<Result> {
    const { client, close } = connect(LookupServiceService, 'lookup', this.lookup.addresses.grpc ?? '', this.clock);
    return work(client).finally(close);
  }

  /** Runs a statement directly on the database and returns its rows. */
  async query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    if (!this.#client) {
      this.#client = new Client({ connectionString: this.database.url });
      await this.#client.connect();
    }
    return (await this.#client.query(text, values)).rows;
  }

  /** Returns whether the mirror has a guild and the websocket keeps it current. */
  async isMirrorLive(guildId = GUILD): Promise<boolean> {
    const guilds = await this.query(
      `SELECT FROM members.mirror_guilds AS g JOIN members.chat_shards AS s USING (shard_count, shard_id)
       WHERE g.guild_id = $1 AND g.is_available AND g.session_epoch = s.epoch AND s.live_until > clock_timestamp()`,
      [guildId],
    );
    return guilds.length === 1;
  }

  /** Waits until the mirror has a guild, and stores that the guild uses this service, so that its members are mirrored. */
  async useMirroredGuild(guildId = GUILD): Promise<void> {
    await vi.waitUntil(() => this.isMirrorLive(guildId), PATIENCE);
    await this.query('UPDATE members.mirror_guilds SET used_at = clock_timestamp() WHERE guild_id = $1', [guildId]);
  }

  /** Returns the number of unfinished link changes (intents). */
  async openIntents(): Promise<number> {
    const [row] = await this.query('SELECT count(*)::int AS open FROM members.intents WHERE finished_at IS NULL');
    return Number(row?.['open']);
  }
}
