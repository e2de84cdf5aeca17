import { internalKeysOf, type Roots } from '#kit/security/process-keys.ts';
import { PROCESSES } from '#proto/processes.ts';

/** A process of ours: what it listens on, whom it calls, and which of the shared configuration it is given. */
export type Deployable = {
  name: string;
  /** Path below the repository. */
  main: string;
  /** Its listeners beside the admin port; the public one is the gateway's. */
  listens: readonly ('public' | 'http' | 'grpc')[];
  /** Services called over gRPC. */
  calls: readonly string[];
  /** Services whose REST routes it passes requests to. */
  proxies: readonly string[];
  /** `admin`: operators change what it holds; `platforms` is access to the chat and game platforms. */
  holds: readonly ('admin' | 'database' | 'redis' | 'platforms')[];
};

/** Everything that runs, as in production. A new service is one entry here, and one in proto/processes.ts. */
export const DEPLOYABLES: readonly Deployable[] = [
  {
    name: 'auth',
    main: 'services/auth/main.ts',
    listens: ['grpc'],
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
    name: 'gateway',
    main: 'gateway/main.ts',
    listens: ['public'],
    calls: PROCESSES.gateway.calls,
    proxies: PROCESSES.gateway.proxies,
    holds: ['redis'],
  },
];

/** Where a process listens, each as a port of 127.0.0.1. */
export type Ports = { admin: number; public?: number; http?: number; grpc?: number };

/** What all processes of one system have in common. */
export type Shared = {
  databaseUrl: string;
  /** Past a pooler of transactions, through which nothing can be listened to. */
  databaseDirectUrl: string | undefined;
  redisUrl: string | null;
  /** From which the keys of each process are derived; no process is given them. */
  roots: Roots;
  chatUrl: string;
  gameUrl: string;
};

const HOST = '127.0.0.1';
const PORT_VARIABLES = { public: 'GATEWAY_PORT', http: 'HTTP_PORT', grpc: 'GRPC_PORT', admin: 'ADMIN_PORT' } as const;
const GAME_URLS = ['USERS', 'GROUPS', 'INVENTORY', 'BADGES', 'APIS', 'ECONOMY'].map((name) => `GAME_${name}_URL`);
/** Never handed on from our own environment: a process gets those that its entry names. */
const GIVEN =
  /^(?:INTERNAL_KEYS|INTERNAL_SECRETS|ADMIN_SECRETS|DATABASE_URL|DATABASE_DIRECT_URL|REDIS_URL|CHAT_API_URL|CHAT_BOT_TOKEN|GAME_\w+|\w+_PORT|npm_\w+)$/;

/** The operator's settings without what belongs to single processes, such as secrets and ports. */
export function withoutOthers(inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(inherited).filter(([name]) => !GIVEN.test(name)));
}

/**
 * The environment of one process: `inherited` (the operator's settings, such as TRUSTED_PROXIES) without what belongs
 * to others, and on top of it the addresses and secrets of this system.
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
  // Node leaves out variables that are undefined.
  const given = {
    // Its keys are among INTERNAL_KEYS.
    admin: {},
    database: { DATABASE_URL: shared.databaseUrl, DATABASE_DIRECT_URL: shared.databaseDirectUrl },
    redis: { REDIS_URL: shared.redisUrl ?? undefined },
    platforms: platforms(shared, inherited),
  };
  return given[held];
}

/** The simulators, except where the operator names a real platform. */
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
