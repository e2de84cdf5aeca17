import { randomUUID } from 'node:crypto';
import { vi } from 'vitest';
import { ManualClock, unixSeconds } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { DefinitionShape } from '#kit/grpc/definition.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { Environment } from '#kit/service/config.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import {
  CommandAdminServiceService,
  type EnqueueCommandsRequest,
  StaffAdminServiceService,
} from '#proto/gen/guild/activity/v1/admin.ts';
import { DecisionServiceService, type DeliverDecisionRequest } from '#proto/gen/guild/activity/v1/commands.ts';
import { connect } from '#test/network/grpc.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { DatabaseTime } from '#test/postgres/database-time.ts';
import { recordedEvents, type StoredEvent } from '#test/postgres/recorded-events.ts';
import { bundledProgram } from '#test/system/app.ts';
import { type ReplicaProcess, startReplicaProcess } from '#test/system/replica-process.ts';
import { callService, type ServiceResponse, TEST_ADMIN_SECRETS, testEnvironment } from '#test/system/signed-calls.ts';
import { activityService } from './service.ts';
import { MAX_OPEN_COMMANDS } from './store/new-commands.ts';

export const GUILD = '900000000000000001';
export const OTHER_GUILD = '900000000000000002';
export const PLACE = 40001;
export const [ADMIN_SECRET = ''] = TEST_ADMIN_SECRETS;

/** Addresses of the services lookup and members for tests that do not need them; no process listens there. */
export const NO_PEERS = { LOOKUP_GRPC_ADDRESS: '127.0.0.1:1', MEMBERS_GRPC_ADDRESS: '127.0.0.1:1' };

/** Returns the ID of a guild that no other test uses. */
export const newGuild = () => String(++lastGuild);
let lastGuild = 910000000000000000n;

interface Request {
  key?: string;
  guildId?: string;
  /** The replica of the activity service that receives the request; the first replica by default. */
  at?: RunningService | undefined;
  /** Aborts the request. */
  signal?: AbortSignal;
}

/** A command as a game server receives it. */
export interface Command {
  command_id: string;
  attempt: number;
  payload: Record<string, unknown>;
  [field: string]: unknown;
}

/** Runs a real activity service on a real database, at a time that the test controls. */
export class ActivityFixture {
  /** The clock of the service. Leases use the clock of the database; `advance` moves both clocks. */
  readonly clock = new ManualClock(Date.UTC(2026, 10, 21));
  #time!: DatabaseTime;
  testDatabase!: TestDatabase;
  database!: Database;
  activity!: RunningService;
  readonly #closers: (() => unknown)[] = [];
  #decisions: GrpcClient<typeof DecisionServiceService> | undefined;

  async start(): Promise<this> {
    this.testDatabase = await createTestDatabase();
    this.#time = await DatabaseTime.control(this.testDatabase.url);
    await this.#time.stopAt(this.clock.now());
    this.database = await openTestPool(this.testDatabase.url);
    this.activity = await this.startActivity();
    return this;
  }

  async stop(): Promise<void> {
    for (const close of this.#closers) await close();
    await this.activity.stop();
    await this.database.close();
    await this.testDatabase.drop();
  }

  /** Moves the clocks of the service and of the database forward by a number of milliseconds. */
  async advance(milliseconds: number): Promise<void> {
    this.clock.advance(milliseconds);
    await this.#time.stopAt(this.clock.now());
  }

  environment(): Environment {
    return {
      ...testEnvironment(this.testDatabase.url),
      ...NO_PEERS,
      HEARTBEAT_GATHER_MS: '5',
    };
  }

  startActivity(environment: Environment = {}): Promise<RunningService> {
    return startService(activityService, { ...this.environment(), ...environment }, { clock: this.clock });
  }

  /** Starts the activity service as a separate process with the machine's clock, and waits until it is ready. */
  async startProcess(databaseUrl: string): Promise<ReplicaProcess> {
    const environment = { ...this.environment(), DATABASE_URL: databaseUrl };
    const replica = await startReplicaProcess(await bundledProgram('activity'), environment);
    this.#closers.push(() => replica.kill());
    return replica;
  }

  get = (path: string, { at, guildId = GUILD, signal }: Request = {}) =>
    callService(this.#service(at), { guildId }, { method: 'GET', path, ...(signal && { signal }) });

  post(path: string, body: object, { key, guildId = GUILD, at, signal }: Request = {}): Promise<ServiceResponse> {
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    const request = { method: 'POST', path, body: { guild_id: guildId, ...body }, headers, ...(signal && { signal }) };
    return callService(this.#service(at), { guildId }, request);
  }

  beat = (serverId: string, fields: object = {}, request: Request = {}) =>
    this.post(
      '/game/servers/heartbeat',
      { server_id: serverId, place_id: PLACE, player_count: 1, max_players: 30, ...fields },
      request,
    );

  poll = (serverId: string, query = '', request: Request = {}) =>
    this.get(`/game/servers/${serverId}/commands${query}`, request);

  /** Polls for commands as a game server, and returns the commands of the response. */
  async take(serverId: string, query = '', request: Request = {}): Promise<Command[]> {
    return (await this.poll(serverId, query, request)).body.data.commands;
  }

  ack = (serverId: string, commandId: string, fields: object = {}, request: Request = {}) =>
    this.post(`/game/servers/${serverId}/commands/${commandId}/ack`, { status: 'success', ...fields }, request);

  /** Cancels a command as a client of the REST API does. */
  cancel(commandId: string, { key, guildId = GUILD, at }: Request = {}): Promise<ServiceResponse> {
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    const request = { method: 'DELETE', path: `/guilds/${guildId}/commands/${commandId}`, headers };
    return callService(this.#service(at), { guildId }, request);
  }

  /**
   * Enqueues a command as guildctl does, for the server `serverId` unless `fields.servers` is given. Returns the
   * command IDs.
   */
  async send(serverId: string, fields: Partial<EnqueueCommandsRequest> = {}, at?: RunningService): Promise<string[]> {
    return (await this.enqueue({ servers: { $case: 'serverId', value: serverId }, ...fields }, at)).commandIds;
  }

  /** Enqueues a command for every live server of a guild, unless `fields.servers` is given. */
  enqueue(fields: Partial<EnqueueCommandsRequest> = {}, at?: RunningService) {
    const servers = { $case: 'all' as const, value: true };
    const command = { guildId: GUILD, servers, type: 'message', payload: '{}', actor: 'ada' };
    return this.admin(at).enqueueCommands({ ...command, ...fields });
  }

  /** Returns the state of a command on each game server, by server ID. */
  async states(guildId: string, commandId: string): Promise<Record<string, string>> {
    const { servers } = await this.admin().readCommand({ guildId, commandId, limit: 0, cursor: '' });
    return Object.fromEntries(servers.map(({ serverId, state }) => [serverId, state]));
  }

  async deliver(fields: Partial<DeliverDecisionRequest> = {}): Promise<number> {
    this.#decisions ??= this.#connectDecisions();
    const decision = {
      guildId: GUILD,
      eventId: randomUUID(),
      type: 'ban',
      payload: '{}',
      createdAt: unixSeconds(this.clock.now()),
      ...fields,
    };
    return (await this.#decisions.deliverDecision(decision)).servers;
  }

  #connectDecisions() {
    const address = this.activity.addresses.grpc ?? '';
    const { client, close } = connect(DecisionServiceService, 'activity', address, this.clock);
    this.#closers.push(close);
    return client;
  }

  /** Returns the events of a guild that were recorded so far. */
  events = (guildId: string) => recordedEvents(this.testDatabase.url, 'activity', guildId);

  /** Returns the events of a guild of these types, as soon as there are `count`. */
  async eventsOf(guildId: string, types: string[], count: number): Promise<StoredEvent[]> {
    const find = async () => {
      const found = (await this.events(guildId)).filter(({ type }) => types.includes(type));
      if (found.length !== count) throw new Error(`${found.length} events of ${count} were recorded`);
      return found;
    };
    // Twice the time in which they must be recorded, because other tests use the processors too.
    return vi.waitFor(find, { timeout: 10_000 });
  }

  /** Inserts commands for a game server, by default the maximum that its queue can hold. */
  async fillQueue(guildId: string, serverId: string, count = MAX_OPEN_COMMANDS): Promise<void> {
    await this.database.query(
      `INSERT INTO activity.commands (guild_id, server_id, type, payload, created_at, expires_at)
       SELECT $1, $2, 'message', '{}', $3, $3::timestamptz + interval '1 hour' FROM generate_series(1, $4)`,
      [guildId, serverId, new Date(this.clock.now()), count],
    );
  }

  /** Returns the value of a replica's metric with the labels `labels`; undefined if the metric has no value yet. */
  async metric(name: string, labels = '', at = this.activity): Promise<number | undefined> {
    const metrics = await (await fetch(`http://${at.addresses.admin}/metrics`)).text();
    const line = metrics.split('\n').find((text) => text.startsWith(`${name}${labels} `));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  }

  admin(at = this.activity): GrpcClient<typeof CommandAdminServiceService> {
    return this.#operator(CommandAdminServiceService, at);
  }

  staffAdmin(at = this.activity): GrpcClient<typeof StaffAdminServiceService> {
    return this.#operator(StaffAdminServiceService, at);
  }

  #operator<Definition extends DefinitionShape>(definition: Definition, at: RunningService) {
    const { client, close } = connect(definition, 'activity', at.addresses.grpc ?? '', this.clock, [ADMIN_SECRET]);
    this.#closers.push(close);
    return client;
  }

  #service(at: RunningService = this.activity) {
    return { address: at.addresses.http ?? '', audience: 'activity', clock: this.clock };
  }
}
