import { randomBytes } from 'node:crypto';
import { gatewayService } from '#gateway/service.ts';
import { type Clock, systemClock } from '#kit/clock.ts';
import { internalKeysOf } from '#kit/security/process-keys.ts';
import type { Environment } from '#kit/service/config.ts';
import { readRoots } from '#kit/service/root-secrets.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import { createLog, type Logger } from '#kit/telemetry/log.ts';
import { freePorts } from '#local/ports.ts';
import { type SimulatorOptions, startSimulators } from '#local/simulators/main.ts';
import { type CreateKeyRequest, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { API_PREFIX } from '#proto/rest/route.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import { activityService } from '#services/activity/service.ts';
import { authService } from '#services/auth/service.ts';
import { bindingsService } from '#services/bindings/service.ts';
import { consoleService } from '#services/console/service.ts';
import { eventsService } from '#services/events/service.ts';
import { lookupService } from '#services/lookup/service.ts';
import { membersService } from '#services/members/service.ts';
import { moderationService } from '#services/moderation/service.ts';
import { connect } from '../network/grpc.ts';
import { createTestDatabase } from '../postgres/database.ts';
import { testRedisUrl } from '../redis/database.ts';
import { asClientCall, callWithClient } from './client-call.ts';

export const GUILD = '900000000000000001';
export const OTHER_GUILD = '900000000000000002';

export interface NetworkOptions {
  /** Variables that are added to the environment of each process. */
  environment?: Environment;
  /** `null` runs the system without Redis. */
  redisUrl?: string | null;
  clock?: Clock;
  /** Receives every log line of every process. */
  logLines?: string[];
  simulators?: SimulatorOptions;
  /** True for a system with the console. */
  console?: boolean;
  /**
   * Returns the address that others use instead of a part's own `host:port`, such as that of a proxy. Parts are the
   * services, `postgres`, `listen` (PostgreSQL for LISTEN), `redis`, `chat` and `game`.
   */
  through?: (part: string, address: string) => Promise<string>;
}

export interface Call {
  method?: string;
  key?: string | undefined;
  headers?: Record<string, string>;
  /** Sent as JSON; strings and buffers are sent unchanged. */
  body?: unknown;
  signal?: AbortSignal;
  /** The base URL of another gateway, with the API's prefix. */
  api?: string;
}

export interface CallResult {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests inspect any response
  json: any;
}

/** The whole system in this process: real services, PostgreSQL, Redis, gRPC and HTTP on free ports. */
export class Network {
  readonly services = new Map<string, RunningService>();
  readonly secrets = { internal: randomBytes(32).toString('hex'), admin: randomBytes(32).toString('hex') };
  readonly #options: NetworkOptions;
  readonly #log: Logger;
  readonly #cleanups: (() => Promise<unknown>)[] = [];
  /** The addresses of all parts that are running. */
  readonly #addresses: Environment = {};
  databaseUrl = '';
  redisUrl: string | null = null;
  simulators!: Awaited<ReturnType<typeof startSimulators>>;

  constructor(options: NetworkOptions, log: Logger) {
    this.#options = options;
    this.#log = log;
  }

  /** The gateway's base URL with the API's prefix. */
  get api(): string {
    return `http://${this.address('gateway', 'http')}/api/v1`;
  }

  address(name: string, listener: 'admin' | 'http' | 'grpc'): string {
    const address = this.services.get(name)?.addresses[listener];
    if (!address) throw new Error(`${name} has no ${listener}`);
    return address;
  }

  async start(): Promise<void> {
    const database = await createTestDatabase();
    this.databaseUrl = database.url;
    this.#cleanups.push(() => database.drop());
    this.redisUrl = this.#options.redisUrl === undefined ? await testRedisUrl() : this.#options.redisUrl;
    this.simulators = await startSimulators(this.#options.simulators ?? {});
    this.#cleanups.push(() => this.simulators.stop());
    await this.#addStorageAndPlatforms();
    if (this.#options.console) await this.#addConsole();
    const names = ['events', 'lookup', 'bindings', 'members', 'activity', 'moderation', 'auth', 'gateway'];
    if (this.#options.console) names.push('console');
    for (const name of names) await this.startOne(name);
  }

  /**
   * Starts a service. An earlier instance runs on until the test or `stop` ends it. Other services only use the new
   * instance if it has the ports of the earlier one, or if they are started after it.
   */
  async startOne(name: string, environment: Environment = {}): Promise<RunningService> {
    const overrides = {
      log: this.#log.child({ service: name }),
      ...(this.#options.clock && { clock: this.#options.clock }),
    };
    const all = this.#withKeys(name, { ...this.#environment(), ...this.#options.environment, ...environment });
    const earlier = this.services.get(name);
    if (earlier) this.#cleanups.push(() => earlier.stop());
    const service = await this.#startNamed(name, all, overrides);
    this.services.set(name, service);
    const { http, grpc } = service.addresses;
    const scheme = all['INTERNAL_TLS_CERT_FILE'] ? 'https' : 'http';
    if (http) this.#addresses[`${name.toUpperCase()}_HTTP_URL`] = await this.#through(name, `${scheme}://${http}`);
    if (grpc) this.#addresses[`${name.toUpperCase()}_GRPC_ADDRESS`] = await this.#through(name, grpc);
    return service;
  }

  /** The variables with which a service starts on the ports that it has now. */
  samePorts(name: string): Environment {
    const { admin, http, grpc } = this.services.get(name)?.addresses ?? { admin: ':0' };
    const port = (address: string | undefined) => address?.split(':').at(-1);
    return { ADMIN_PORT: port(admin), HTTP_PORT: port(http), GRPC_PORT: port(grpc) };
  }

  async createKey(options: Partial<CreateKeyRequest> = {}): Promise<{ id: string; secret: string }> {
    const request = {
      guildId: GUILD,
      name: 'test',
      legacy: false,
      scopes: [...SCOPES],
      ipAllowlist: [],
      actor: 'test',
    };
    const { key, secret } = await this.admin().createKey({ ...request, ...options });
    if (!key) throw new Error('no key');
    return { id: key.id, secret };
  }

  /** A client for key administration, as guildctl uses it. */
  admin() {
    const address = this.address('auth', 'grpc');
    const { client, close } = connect(KeyAdminServiceService, 'auth', address, systemClock, [this.secrets.admin]);
    this.#cleanups.push(async () => close());
    return client;
  }

  /** Makes a request to the gateway: with the TypeScript client if it is well-formed, otherwise with plain fetch. */
  async call(path: string, options: Call = {}): Promise<CallResult> {
    const { method = 'GET', key, headers = {}, body, signal, api = this.api } = options;
    const call = asClientCall({ path, method, key, headers, body });
    if (call) {
      const response = await callWithClient(api.slice(0, -API_PREFIX.length), call, signal);
      return { status: response.status, headers: response.headers, json: response.body };
    }
    const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
    const response = await fetch(api + path, {
      method,
      headers: {
        ...(key === undefined ? {} : { 'x-api-key': key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    // A stream of events would never end.
    if (isStream) await response.body?.cancel();
    const text = isStream ? '' : await response.text();
    return { status: response.status, headers: response.headers, json: text === '' ? undefined : JSON.parse(text) };
  }

  async stop(): Promise<void> {
    for (const service of [...this.services.values()].toReversed()) await service.stop();
    for (const cleanup of this.#cleanups.toReversed()) await cleanup();
  }

  #startNamed(
    name: string,
    environment: Environment,
    overrides: { log: Logger; clock?: Clock },
  ): Promise<RunningService> {
    switch (name) {
      case 'auth':
        return startService(authService, environment, overrides);
      case 'lookup':
        return startService(lookupService, environment, overrides);
      case 'bindings':
        return startService(bindingsService, environment, overrides);
      case 'members':
        return startService(membersService, environment, overrides);
      case 'activity':
        return startService(activityService, environment, overrides);
      case 'moderation':
        return startService(moderationService, environment, overrides);
      case 'events':
        return startService(eventsService, environment, overrides);
      case 'gateway':
        return startService(gatewayService, environment, overrides);
      case 'console':
        return startService(consoleService, environment, overrides);
      default:
        throw new Error(`there is no service ${name}`);
    }
  }

  async #addStorageAndPlatforms(): Promise<void> {
    const { game, chat } = this.simulators;
    this.#addresses.DATABASE_URL = await this.#through('postgres', this.databaseUrl);
    // Without this variable LISTEN uses DATABASE_URL.
    if (this.#options.through) {
      this.#addresses.DATABASE_DIRECT_URL = await this.#through('listen', this.databaseUrl);
      // The proxy is not a transaction pooler.
      this.#addresses.PG_PREPARE = 'true';
    }
    if (this.redisUrl) this.#addresses.REDIS_URL = await this.#through('redis', this.redisUrl);
    this.#addresses.CHAT_API_URL = `${await this.#through('chat', chat)}/api/v10`;
    const gameUrl = await this.#through('game', game);
    for (const host of ['USERS', 'GROUPS', 'INVENTORY', 'BADGES', 'APIS', 'ECONOMY']) {
      this.#addresses[`GAME_${host}_URL`] = gameUrl;
    }
  }

  /** The address of the console, which auth has to know before the console starts, and the providers for sign-in. */
  async #addConsole(): Promise<void> {
    const [port = 0] = await freePorts(1);
    const { chat, oidc } = this.simulators;
    Object.assign(this.#addresses, {
      CONSOLE_PORT: String(port),
      CONSOLE_URL: `http://127.0.0.1:${port}`,
      CHAT_OAUTH_AUTHORIZE_URL: `${chat}/oauth2/authorize`,
      CHAT_OAUTH_CLIENT_ID: '940000000000000001',
      CHAT_OAUTH_CLIENT_SECRET: 'chat-client-secret',
      OIDC_ISSUER: oidc,
      OIDC_CLIENT_ID: 'guild-data',
      OIDC_CLIENT_SECRET: 'openid-client-secret',
    });
  }

  /** The address or URL with the address that `through` returns. */
  async #through(part: string, target: string): Promise<string> {
    const { through } = this.#options;
    if (!through) return target;
    const [address = ''] = /127\.0\.0\.1:\d+/.exec(target) ?? [];
    return target.replace(address, await through(part, address));
  }

  /** The environment of one process: derived keys instead of the root secrets. */
  #withKeys(name: string, { INTERNAL_SECRETS, ADMIN_SECRETS, ...others }: Environment): Environment {
    const { internal, admin } = this.secrets;
    const roots = { INTERNAL_SECRETS: INTERNAL_SECRETS ?? internal, ADMIN_SECRETS: ADMIN_SECRETS ?? admin };
    return { INTERNAL_KEYS: internalKeysOf(name, readRoots(roots)), ...others };
  }

  /** The environment that all processes share. */
  #environment(): Environment {
    return {
      ...this.#addresses,
      LISTEN_HOST: '127.0.0.1',
      GRPC_REFLECTION: 'false',
      GATEWAY_PORT: '0',
      CHAT_BOT_TOKEN: 'test-bot-token',
      GAME_API_KEY: 'test-game-key',
    };
  }
}

/** Starts the whole system; call `stop()` in afterAll. */
export async function startNetwork(options: NetworkOptions = {}): Promise<Network> {
  const destination = { write: (line: string) => void options.logLines?.push(line) };
  const log = await createLog({ service: 'network', level: options.logLines ? 'debug' : 'silent', destination });
  const network = new Network(options, log);
  await network.start();
  return network;
}
