import { internalKeysOf, type Roots } from '#kit/security/process-keys.ts';
import { PROCESSES } from '#proto/processes.ts';

/** One of our processes: its listeners, the services that it calls, and the shared configuration that it gets. */
export type Deployable = {
  name: string;
  /** Path below the repository. */
  main: string;
  /** Its listeners besides the admin port. Only the gateway has the public one. */
  listens: readonly ('public' | 'http' | 'grpc')[];
  /** Services called over gRPC. */
  calls: readonly string[];
  /** Services to which it forwards REST requests. */
  proxies: readonly string[];
  /**
   * `admin`: operators change what it holds; `platforms` is access to the chat and game platforms, `webhooks` to the
   * servers that receive webhooks.
   */
  holds: readonly ('admin' | 'database' | 'redis' | 'platforms' | 'webhooks')[];
};

/** All processes, as in production. A new service needs an entry here and one in proto/processes.ts. */
export const DEPLOYABLES: readonly Deployable[] = [
  {
    name: 'auth',
    main: 'services/auth/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.auth.calls,
    proxies: PROCESSES.auth.proxies,
    holds: ['admin', 'database'],
  },
  {
    name: 'lookup',
    main: 'services/lookup/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.lookup.calls,
    proxies: PROCESSES.lookup.proxies,
    holds: ['admin', 'database'],
  },
  {
    name: 'bindings',
    main: 'services/bindings/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.bindings.calls,
    proxies: PROCESSES.bindings.proxies,
    holds: ['admin', 'database', 'redis', 'platforms'],
  },
  {
    name: 'members',
    main: 'services/members/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.members.calls,
    proxies: PROCESSES.members.proxies,
    holds: ['admin', 'database', 'redis', 'platforms'],
  },
  {
    name: 'activity',
    main: 'services/activity/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.activity.calls,
    proxies: PROCESSES.activity.proxies,
    holds: ['admin', 'database'],
  },
  {
    name: 'moderation',
    main: 'services/moderation/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.moderation.calls,
    proxies: PROCESSES.moderation.proxies,
    holds: ['admin', 'database'],
  },
  {
    name: 'events',
    main: 'services/events/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.events.calls,
    proxies: PROCESSES.events.proxies,
    holds: ['admin', 'database', 'webhooks'],
  },
  {
    name: 'gateway',
    main: 'gateway/main.ts',
    listens: ['public'],
    calls: PROCESSES.gateway.calls,
    proxies: PROCESSES.gateway.proxies,
    holds: ['redis'],
  },
];

/** The ports of 127.0.0.1 on which a process listens. */
export type Ports = { admin: number; public?: number; http?: number; grpc?: number };

/** Configuration that all processes of one system share. */
export type Shared = {
  databaseUrl: string;
  /** Bypasses a transaction pooler, through which LISTEN does not work. */
  databaseDirectUrl: string | undefined;
  redisUrl: string | null;
  /** The root secrets from which the keys of each process are derived; no process gets these. */
  roots: Roots;
  chatUrl: string;
  gameUrl: string;
};

const HOST = '127.0.0.1';
const PORT_VARIABLES = { public: 'GATEWAY_PORT', http: 'HTTP_PORT', grpc: 'GRPC_PORT', admin: 'ADMIN_PORT' } as const;
const GAME_URLS = ['USERS', 'GROUPS', 'INVENTORY', 'BADGES', 'APIS', 'ECONOMY'].map((name) => `GAME_${name}_URL`);
/** Variables that are not inherited from our own environment: a process only gets those that its entry names. */
const GIVEN =
  /^(?:INTERNAL_KEYS|INTERNAL_SECRETS|ADMIN_SECRETS|DATABASE_URL|DATABASE_DIRECT_URL|REDIS_URL|CHAT_API_URL|CHAT_BOT_TOKEN|GAME_\w+|\w+_PORT|npm_\w+)$/;

/** The operator's settings without variables of single processes, such as secrets and ports. */
export function withoutOthers(inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(inherited).filter(([name]) => !GIVEN.test(name)));
}

/**
 * The environment of one process: `inherited` (the operator's settings, such as TRUSTED_PROXIES) without the variables
 * of single processes, plus the addresses and secrets of this system.
 */
export function environmentOf(
  deployable: Deployable,
  ports: Readonly<Record<string, Ports>>,
  shared: Shared,
  inherited: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const own = portsOf(ports, deployable.name);
  const environment: NodeJS.ProcessEnv = {
    NODE_ENV: 'production',
    LOG_LEVEL: 'info',
    ...withoutOthers(inherited),
    LISTEN_HOST: HOST,
    ADMIN_HOST: HOST,
    INTERNAL_KEYS: internalKeysOf(deployable.name, shared.roots),
    ADMIN_PORT: String(own.admin),
  };
  for (const listener of deployable.listens) environment[PORT_VARIABLES[listener]] = String(own[listener]);
  for (const peer of deployable.calls) {
    environment[`${peer.toUpperCase()}_GRPC_ADDRESS`] = `${HOST}:${portsOf(ports, peer).grpc}`;
  }
  const scheme = inherited['INTERNAL_TLS_CERT_FILE'] ? 'https' : 'http';
  for (const peer of deployable.proxies) {
    environment[`${peer.toUpperCase()}_HTTP_URL`] = `${scheme}://${HOST}:${portsOf(ports, peer).http}`;
  }
  for (const held of deployable.holds) Object.assign(environment, holdings(held, shared, inherited));
  return environment;
}

function holdings(held: Deployable['holds'][number], shared: Shared, inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // Node does not pass on variables that are undefined.
  const given = {
    // The keys of operators are part of INTERNAL_KEYS.
    admin: {},
    database: { DATABASE_URL: shared.databaseUrl, DATABASE_DIRECT_URL: shared.databaseDirectUrl },
    redis: { REDIS_URL: shared.redisUrl ?? undefined },
    platforms: platforms(shared, inherited),
    // The simulated receiver has a loopback address and no TLS.
    webhooks: {
      WEBHOOKS_ALLOW_HTTP: inherited['WEBHOOKS_ALLOW_HTTP'] || 'true',
      WEBHOOKS_ALLOWED_NETWORKS: inherited['WEBHOOKS_ALLOWED_NETWORKS'] || '127.0.0.0/8,::1',
    },
  };
  return given[held];
}

/** The addresses of the simulators, unless the operator has set a real platform. */
function platforms(shared: Shared, inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = {
    CHAT_API_URL: inherited['CHAT_API_URL'] || `${shared.chatUrl}/api/v10`,
    CHAT_BOT_TOKEN: inherited['CHAT_BOT_TOKEN'] || 'simulated-bot-token',
    GAME_API_KEY: inherited['GAME_API_KEY'] || 'simulated-game-key',
  };
  for (const name of GAME_URLS) environment[name] = inherited[name] || shared.gameUrl;
  return environment;
}

function portsOf(ports: Readonly<Record<string, Ports>>, name: string): Ports {
  const found = ports[name];
  if (!found) throw new Error(`no ports for ${name}`);
  return found;
}
