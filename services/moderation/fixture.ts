import { Client } from 'pg';
import { type Clock, ManualClock } from '#kit/clock.ts';
import type { Environment } from '#kit/service/config.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { DatabaseTime } from '#test/postgres/database-time.ts';
import { bundledProgram } from '#test/system/app.ts';
import { type ReplicaProcess, startReplicaProcess } from '#test/system/replica-process.ts';
import { callService, type ServiceResponse, TEST_ADMIN_SECRETS, testEnvironment } from '#test/system/signed-calls.ts';
import { FakeActivityService } from './fixtures/activity-peer.ts';
import { moderationService } from './service.ts';

export const GUILD = '900000000000000001';
export const OTHER_GUILD = '900000000000000002';
export const [ADMIN_SECRET = ''] = TEST_ADMIN_SECRETS;

/** Returns the game ID of a player that no other test of the file uses. */
export const newPlayer = () => ++lastPlayer;
let lastPlayer = 7_000;

/** Returns the ID of a guild that no other test of the file uses. */
export const newGuild = () => String(910_000_000_000_000_000n + BigInt(++lastGuild));
let lastGuild = 0;

interface Request {
  body?: unknown;
  key?: string;
  guildId?: string;
  /** The replica of the moderation service that gets the request; the first one by default. */
  at?: RunningService;
}

/** Runs a real moderation service on a real database, with a fake activity service that tests control. */
export class ModerationFixture {
  readonly clock: Clock;
  readonly activity: FakeActivityService;
  database!: TestDatabase;
  /** Controls the database's clock, which stands still too if `clock` is a ManualClock. */
  time: DatabaseTime | undefined;
  moderation!: RunningService;
  #client: Client | undefined;

  /** By default the clocks of the service and of the database stand still, and tests move the clocks. */
  constructor(clock: Clock = new ManualClock(Date.now())) {
    this.clock = clock;
    this.activity = new FakeActivityService(clock);
  }

  async start(environment: Environment = {}): Promise<this> {
    [this.database] = await Promise.all([createTestDatabase(), this.activity.start()]);
    if (this.clock instanceof ManualClock) {
      this.time = await DatabaseTime.control(this.database.url);
      await this.time.stopAt(this.clock.now());
    }
    this.moderation = await this.startReplica(environment);
    return this;
  }

  async stop(): Promise<void> {
    await this.#client?.end();
    await this.moderation.stop();
    await this.activity.stop();
    await this.database.drop();
  }

  /** Returns the environment variables of a replica of the moderation service. */
  environment(): Environment {
    return {
      ...testEnvironment(this.database.url),
      ACTIVITY_GRPC_ADDRESS: this.activity.address,
    };
  }

  startReplica(environment: Environment = {}): Promise<RunningService> {
    return startService(moderationService, { ...this.environment(), ...environment }, { clock: this.clock });
  }

  /** Starts a replica of the moderation service as a separate process, and waits until the process is ready. */
  async startProcess(environment: Environment = {}): Promise<ReplicaProcess> {
    return startReplicaProcess(await bundledProgram('moderation'), { ...this.environment(), ...environment });
  }

  /** Moves the clocks of the service and of the database, which must stand still, by milliseconds. */
  async advance(milliseconds: number): Promise<void> {
    if (!(this.clock instanceof ManualClock) || !this.time) throw new Error('a running clock cannot be moved');
    this.clock.advance(milliseconds);
    await this.time.advance(milliseconds);
  }

  get = (path: string, request: Request = {}) => this.#call('GET', path, request);
  post = (path: string, body: unknown, request: Request = {}) => this.#call('POST', path, { body, ...request });

  put = (path: string, body: unknown, request: Request = {}) => this.#call('PUT', path, { body, ...request });
  delete = (path: string, request: Request = {}) => this.#call('DELETE', path, request);

  #call(
    method: string,
    path: string,
    { body, key, guildId = GUILD, at = this.moderation }: Request,
  ): Promise<ServiceResponse> {
    const service = { address: at.addresses.http ?? '', audience: 'moderation', clock: this.clock };
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    return callService(service, { guildId }, { method, path, body, headers });
  }

  /** Sends a REST request to `ban`, `unban`, `mute` or `unmute` a player. Bans and mutes have a default reason. */
  decide(action: string, body: Record<string, unknown>, request: Request = {}): Promise<ServiceResponse> {
    const reason = action.startsWith('un') ? {} : { reason: 'Cheats' };
    return this.post(`/moderation/${request.guildId ?? GUILD}/game/${action}`, { ...reason, ...body }, request);
  }

  /** Requests a player's ban status and returns the `data` of the response. */
  async banStatus(gameId: number, query = '', request: Request = {}) {
    const response = await this.get(`/moderation/${request.guildId ?? GUILD}/ban-status/${gameId}${query}`, request);
    return response.body.data;
  }

  /** Runs a statement directly on the database. */
  async query<Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    if (!this.#client) {
      this.#client = new Client({ connectionString: this.database.url });
      await this.#client.connect();
    }
    return (await this.#client.query(text, values)).rows;
  }

  /** Returns the number of decisions that wait in the outbox, without dead letters. */
  async undelivered(guildId = GUILD): Promise<number> {
    const [row] = await this.query<{ open: number }>(
      "SELECT count(*)::int AS open FROM moderation.outbox WHERE guild_id = $1 AND delivered_at IS NULL AND state = 'queued'",
      [guildId],
    );
    return row?.open ?? 0;
  }
}
