import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type ApiKey, makeApiKey, readApiKey } from '#kit/api-key.ts';
import { Breakers } from '#kit/breaker.ts';
import { ManualClock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { GrpcServer, type ResponseStream } from '#kit/grpc.ts';
import { GrpcChannel, type GrpcClient, isGrpcFailure } from '#kit/grpc-client.ts';
import { Readiness } from '#kit/health.ts';
import { Metrics } from '#kit/metrics.ts';
import { SecretRing } from '#kit/secrets.ts';
import {
  AuthServiceService,
  type KeyChange,
  type KeyGrant,
  type KeyHash,
  type KeyUse,
  type VerifyRequest,
  type VerifyResponse,
  type WatchResponse,
} from '#proto/gen/guild/auth/v1/auth.ts';

export const GUILD = '900000000000000001';
export const silentLog = pino({ level: 'silent' });
const ring = new SecretRing(['only for tests, and long enough for them']);

/** The other end of auth's protocol, for tests: does what the service itself can't be told to do. */
export class AuthPeer {
  readonly clock: ManualClock;
  /** The keys of each Verify message, probes left out. */
  readonly messages: KeyHash[][] = [];
  /** The uses of each RecordUse message. */
  readonly uses: KeyUse[][] = [];
  /** What a new stream begins with. */
  replay: WatchResponse[] = [];
  isFailing = false;
  /** Answers that are left out at the end of each message. */
  missingAnswers = 0;
  readonly #grants = new Map<string, KeyGrant>();
  readonly #streams = new Set<{ stream: ResponseStream<WatchResponse>; end: () => void }>();
  #gate: PromiseWithResolvers<void> | undefined;
  #server: GrpcServer | undefined;
  #port = 0;
  #opened = 0;

  constructor(clock: ManualClock) {
    this.clock = clock;
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** How many streams are open. */
  get streams(): number {
    return this.#streams.size;
  }

  /** How many streams were ever opened. */
  get opened(): number {
    return this.#opened;
  }

  /** Starts, or starts again on the same port. */
  async start(): Promise<void> {
    const { clock } = this;
    const listen = { host: '127.0.0.1', port: this.#port, reflection: false };
    const parts = { clock, metrics: new Metrics(), log: silentLog, readiness: new Readiness() };
    this.#server = new GrpcServer({ service: 'auth', ...listen, ...parts });
    const handlers = {
      verify: (request: VerifyRequest) => this.#verify(request),
      watch: (_: unknown, stream: ResponseStream<WatchResponse>) => this.#watch(stream),
      recordUse: async ({ uses }: { uses: KeyUse[] }) => {
        this.#mayFail();
        this.uses.push(uses);
        return {};
      },
    };
    this.#server.add(AuthServiceService, handlers, ring);
    await this.#server.start();
    this.#port = Number(this.#server.address.split(':')[1]);
  }

  async stop(): Promise<void> {
    this.release();
    await this.#server?.stop();
  }

  /** Makes the key a good one. */
  grant(key: ApiKey, changes: Partial<KeyGrant> = {}): KeyGrant {
    const grant: KeyGrant = {
      keyId: `${GUILD}-1`,
      guildId: key.guildId,
      prefix: key.prefix,
      legacy: false,
      scopes: ['lookup:read'],
      ipAllowlist: [],
      rateLimit: 0,
      expiresAt: 0,
      validUntil: 0,
      version: 1,
      ...changes,
    };
    this.#grants.set(key.hash.toString('hex'), grant);
    return grant;
  }

  revoke(key: ApiKey): void {
    this.#grants.delete(key.hash.toString('hex'));
  }

  /** Lets questions in, but no answers out, until `release`. Answers are those of the time of the question. */
  hold(): void {
    this.#gate = Promise.withResolvers();
  }

  release(): void {
    this.#gate?.resolve();
    this.#gate = undefined;
  }

  beat(): void {
    this.#tell({ event: { $case: 'beat', value: {} } });
  }

  change(change: KeyChange): void {
    this.#tell(changeMessage(change));
  }

  endStreams(): void {
    for (const { end } of this.#streams) end();
  }

  #tell(message: WatchResponse): void {
    for (const { stream } of this.#streams) stream.write(message);
  }

  async #verify({ keys }: VerifyRequest): Promise<VerifyResponse> {
    if (keys.some(({ hash }) => !hash.equals(Buffer.alloc(32)))) this.messages.push(keys);
    const results = keys.map(({ hash }) => ({ grant: this.#grants.get(hash.toString('hex')) }));
    await this.#gate?.promise;
    this.#mayFail();
    return { results: results.slice(0, results.length - this.missingAnswers) };
  }

  async #watch(stream: ResponseStream<WatchResponse>): Promise<void> {
    this.#mayFail();
    for (const message of this.replay) stream.write(message);
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const open = { stream, end };
    this.#streams.add(open);
    this.#opened += 1;
    stream.signal.addEventListener('abort', () => end());
    await promise;
    this.#streams.delete(open);
  }

  #mayFail(): void {
    if (this.isFailing) throw new ApiError('UNAVAILABLE');
  }
}

/** A peer that is up, and a client of it; both are gone when the test ends. */
export async function startPeer(
  deadlineMs = 5_000,
): Promise<{ peer: AuthPeer; clock: ManualClock; metrics: Metrics; client: GrpcClient<AuthServiceService> }> {
  const clock = new ManualClock();
  const metrics = new Metrics();
  const peer = new AuthPeer(clock);
  await peer.start();
  const breakers = new Breakers(metrics);
  const breaker = breakers.create('auth', isGrpcFailure);
  const target = { caller: 'gateway', audience: 'auth', address: peer.address };
  const channel = new GrpcChannel({ ...target, ring, clock, metrics, breaker, deadlineMs });
  onTestFinished(async () => {
    channel.close();
    breakers.stop();
    await peer.stop();
  });
  return { peer, clock, metrics, client: channel.methods(AuthServiceService) };
}

/** A key that no test has had before. */
export function newKey(): ApiKey {
  return readApiKey(makeApiKey(GUILD, randomBytes)) as ApiKey;
}

/** A change of the key to this version, made now. */
export function changeOf(key: ApiKey, version: number, clock: ManualClock, more: ApiKey[] = []): KeyChange {
  const hashes = [key, ...more].map(({ hash }) => hash);
  return { keyId: `${GUILD}-1`, guildId: GUILD, version, hashes, changedAtMs: clock.now() };
}

export function changeMessage(value: KeyChange): WatchResponse {
  return { event: { $case: 'change', value } };
}

/** A metric's value, by its label's value where it has one. */
export async function metric(metrics: Metrics, name: string, label?: string): Promise<number> {
  const [family = name] = name.split(/_(?:count|sum)$/);
  const { values } = (await metrics.registry.getSingleMetric(family)?.get()) ?? { values: [] };
  const found = values.find((value) => {
    const isNamed = !('metricName' in value) || value.metricName === name;
    return isNamed && (label === undefined || Object.values(value.labels).includes(label));
  });
  return found?.value ?? 0;
}
