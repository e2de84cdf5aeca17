import { randomUUID } from 'node:crypto';
import { systemClock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { type Database } from '#kit/postgres/pool.ts';
import type { Principal } from '#kit/security/principal.ts';
import type { Environment } from '#kit/service/config.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import { EventLogServiceService, type RecordedEvent } from '#proto/gen/guild/events/v1/events.ts';
import { API_PREFIX } from '#proto/rest/route.ts';
import { openStream } from '#test/network/event-stream.ts';
import { connect } from '#test/network/grpc.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { callService, type ServiceResponse, signedHeaders, testEnvironment } from '#test/system/signed-calls.ts';
import { eventsService } from './service.ts';

/** Returns the ID of a guild that no other test uses. */
export const newGuild = () => String(++lastGuild);
let lastGuild = 910000000000000000n;

/** An event as a service sends it, of the guild that is passed to `append`. */
export const recorded = (number: number, fields: Partial<RecordedEvent> = {}): RecordedEvent => ({
  guildId: '',
  number,
  id: randomUUID(),
  type: 'ban.created',
  createdAtMs: Date.now(),
  source: { kind: 'system', id: 'moderation' },
  persons: [],
  data: JSON.stringify({ number }),
  ...fields,
});

/** `count` events with ascending numbers. */
export const recordedFrom = (first: number, count: number, fields: Partial<RecordedEvent> = {}) =>
  Array.from({ length: count }, (_, index) => recorded(first + index, fields));

/** An event in a response. */
export interface EventBody {
  id: string;
  seq: number;
  type: string;
  source: { kind: string; id: string | null };
  data: Record<string, unknown>;
}

interface Reader {
  principal?: Partial<Principal>;
  at?: RunningService;
  signal?: AbortSignal;
}

interface StreamOptions extends Omit<Reader, 'signal'> {
  lastEventId?: string;
}

/** Runs a real events service on a real database. */
export class EventsFixture {
  testDatabase!: TestDatabase;
  database!: Database;
  events!: RunningService;
  readonly #closers: (() => unknown)[] = [];

  async start(environment: Environment = {}): Promise<this> {
    await this.createDatabase();
    this.events = await this.startEvents(environment);
    return this;
  }

  protected async createDatabase(): Promise<void> {
    this.testDatabase = await createTestDatabase();
    this.database = await openTestPool(this.testDatabase.url);
  }

  async stop(): Promise<void> {
    for (const close of this.#closers) await close();
    await this.events.stop();
    await this.database.close();
    await this.testDatabase.drop();
  }

  /** Starts a replica. The first one is stopped by `stop`, others by the test. */
  startEvents(environment: Environment = {}): Promise<RunningService> {
    return startService(eventsService, { ...testEnvironment(this.testDatabase.url), ...environment });
  }

  /** A client that sends events to a replica, as another service does. */
  log(at = this.events): GrpcClient<typeof EventLogServiceService> {
    const { client, close } = connect(EventLogServiceService, 'events', at.addresses.grpc ?? '', systemClock);
    this.#closers.push(close);
    return client;
  }

  /** Stores events, and returns how many were stored now. */
  async append(guildId: string, events: RecordedEvent[], service = 'moderation'): Promise<number> {
    this.#client ??= this.log();
    return (await this.#client.appendEvents({ service, events: events.map((event) => ({ ...event, guildId })) }))
      .stored;
  }
  #client: GrpcClient<typeof EventLogServiceService> | undefined;

  /** Reads events as the gateway forwards a request, with the query parameters `query`. */
  list(guildId: string, query = '', { principal, at = this.events, signal }: Reader = {}): Promise<ServiceResponse> {
    const service = { address: at.addresses.http ?? '', audience: 'events' };
    const request = { method: 'GET', path: `/events${query}`, ...(signal && { signal }) };
    return callService(service, { guildId, ...principal }, request);
  }

  /** Opens a stream of events as the gateway forwards a request, with the query parameters `query`. */
  async stream(guildId: string, query = '', { principal, at = this.events, lastEventId }: StreamOptions = {}) {
    const target = `${API_PREFIX}/events/stream${query}`;
    const headers = signedHeaders({ audience: 'events' }, { guildId, ...principal }, target);
    const all = { ...headers, ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) };
    const reader = await openStream(`http://${at.addresses.http}${target}`, { ...all, 'x-guild-id': guildId });
    this.#closers.push(() => reader.close());
    return reader;
  }

  /** Returns the events of a guild after a seq. */
  async read(guildId: string, after?: number): Promise<EventBody[]> {
    const { body } = await this.list(guildId, after === undefined ? '' : `?after=${after}`);
    return body.data.events;
  }

  /** Returns the value of a replica's metric with the labels `labels`; undefined if it has no value yet. */
  async metric(name: string, labels = '', at = this.events): Promise<number | undefined> {
    const metrics = await (await fetch(`http://${at.addresses.admin}/metrics`)).text();
    const line = metrics.split('\n').find((text) => text.startsWith(`${name}${labels} `));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  }
}
