import { internalKeysOf, type Roots } from '#kit/security/process-keys.ts';
import { PROCESSES } from '#proto/processes.ts';

/** One of our processes: its listeners, the services that it calls, and the shared configuration that it gets. */
export type Deployable = {
  name: string;
  /** Path below the repository. */
  main: string;
  /** Its listeners besides the admin port. Clients and browsers connect to `public`. */
  listens: readonly ('public' | 'http' | 'grpc')[];
  /** Services called over gRPC. */
  calls: readonly string[];
  /** Services to which it forwards REST requests. */
  forwards: readonly string[];
  /**
   * `admin`: operators change what it holds; `platforms` is access to the chat and game platforms, `game` only
   * to the game platform's API with keys, `webhooks` to the servers that receive webhooks; `console` is the address of the console, `sign-in` access to the providers with which
   * persons sign in there; `interactions` accepts slash commands of the chat platform, and `responses` responds to them.
   */
  holds: readonly (
    | 'admin'
    | 'database'
    | 'redis'
    | 'platforms'
    | 'game'
    | 'webhooks'
    | 'console'
    | 'sign-in'
    | 'interactions'
    | 'responses'
  )[];
  /** True if each replica has one more database connection, on which PostgreSQL notifies it (LISTEN). */
  notified?: true;
};

/** All processes, as in production. A new service needs an entry here and one in proto/processes.ts. */
export const DEPLOYABLES: readonly Deployable[] = [
  {
    name: 'auth',
    main: 'services/auth/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.auth.calls,
    forwards: PROCESSES.auth.forwards,
    holds: ['admin', 'database', 'console', 'sign-in', 'responses'],
    notified: true,
  },
  {
    name: 'lookup',
    main: 'services/lookup/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.lookup.calls,
    forwards: PROCESSES.lookup.forwards,
    holds: ['admin', 'database', 'redis'],
    notified: true,
  },
  {
    name: 'bindings',
    main: 'services/bindings/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.bindings.calls,
    forwards: PROCESSES.bindings.forwards,
    holds: ['admin', 'database', 'redis', 'platforms'],
  },
  {
    name: 'members',
    main: 'services/members/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.members.calls,
    forwards: PROCESSES.members.forwards,
    holds: ['admin', 'database', 'redis', 'platforms'],
  },
  {
    name: 'activity',
    main: 'services/activity/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.activity.calls,
    forwards: PROCESSES.activity.forwards,
    holds: ['admin', 'database', 'redis', 'game'],
    notified: true,
  },
  {
    name: 'moderation',
    main: 'services/moderation/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.moderation.calls,
    forwards: PROCESSES.moderation.forwards,
    holds: ['admin', 'database', 'redis', 'game'],
    notified: true,
  },
  {
    name: 'events',
    main: 'services/events/main.ts',
    listens: ['http', 'grpc'],
    calls: PROCESSES.events.calls,
    forwards: PROCESSES.events.forwards,
    holds: ['admin', 'database', 'redis', 'webhooks'],
    notified: true,
  },
  {
    name: 'gateway',
    main: 'gateway/main.ts',
    listens: ['public'],
    calls: PROCESSES.gateway.calls,
    forwards: PROCESSES.gateway.forwards,
    holds: ['redis', 'interactions'],
  },
  {
    name: 'console',
    main: 'services/console/main.ts',
    listens: ['public'],
    calls: PROCESSES.console.calls,
    forwards: PROCESSES.console.forwards,
    holds: ['redis', 'console'],
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
  /** The public key of the simulated chat platform's application, in hexadecimal. */
  chatPublicKey: string;
  gameUrl: string;
  /** The simulated OpenID provider. */
  oidcUrl: string;
  /** The origin under which browsers open the console. */
  consoleUrl: string;
  /** The URL of the gateway. */
  gatewayUrl: string;
};

const HOST = '127.0.0.1';
const PORT_VARIABLES = { http: 'HTTP_PORT', grpc: 'GRPC_PORT', admin: 'ADMIN_PORT' } as const;
const GAME_URLS = ['USERS', 'GROUPS', 'INVENTORY', 'BADGES', 'APIS', 'ECONOMY'].map((name) => `GAME_${name}_URL`);
/** Variables that are not inherited from our own environment: a process only gets those that its entry names. */
const GIVEN =
  /^(?:INTERNAL_KEYS|INTERNAL_SECRETS|ADMIN_SECRETS|DATABASE_URL|DATABASE_DIRECT_URL|REDIS_URL|CHAT_API_URL|CHAT_BOT_TOKEN|CHAT_APPLICATION_PUBLIC_KEY|CHAT_OAUTH_\w+|OIDC_\w+|CONSOLE_URL|GAME_\w+|\w+_PORT|npm_\w+)$/;

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
  for (const listener of deployable.listens) environment[portVariable(deployable, listener)] = String(own[listener]);
  for (const peer of deployable.calls) {
    environment[`${peer.toUpperCase()}_GRPC_ADDRESS`] = `${HOST}:${portsOf(ports, peer).grpc}`;
  }
  const scheme = inherited['INTERNAL_TLS_CERT_FILE'] ? 'https' : 'http';
  for (const peer of deployable.forwards) {
    environment[`${peer.toUpperCase()}_HTTP_URL`] = `${scheme}://${HOST}:${portsOf(ports, peer).http}`;
  }
  for (const held of deployable.holds) Object.assign(environment, holdings(held, shared, inherited));
  return environment;
}

function portVariable({ name }: Deployable, listener: Deployable['listens'][number]): string {
  return listener === 'public' ? `${name.toUpperCase()}_PORT` : PORT_VARIABLES[listener];
}

function holdings(held: Deployable['holds'][number], shared: Shared, inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // Node does not pass on variables that are undefined.
  const given = {
    // The keys of operators are part of INTERNAL_KEYS.
    admin: {},
    database: { DATABASE_URL: shared.databaseUrl, DATABASE_DIRECT_URL: shared.databaseDirectUrl },
    redis: { REDIS_URL: shared.redisUrl ?? undefined },
    platforms: platforms(shared, inherited),
    game: openCloud(shared, inherited),
    // The simulated receiver has a loopback address and no TLS.
    webhooks: {
      WEBHOOKS_ALLOW_HTTP: inherited['WEBHOOKS_ALLOW_HTTP'] || 'true',
      WEBHOOKS_ALLOWED_NETWORKS: inherited['WEBHOOKS_ALLOWED_NETWORKS'] || '127.0.0.0/8,::1',
    },
    console: { CONSOLE_URL: shared.consoleUrl, PUBLIC_URL: inherited['PUBLIC_URL'] || shared.gatewayUrl },
    'sign-in': signIn(shared, inherited),
    interactions: { CHAT_APPLICATION_PUBLIC_KEY: publicKey(shared, inherited) },
    responses: { CHAT_API_URL: chatApiUrl(shared, inherited) },
  };
  return given[held];
}

const chatApiUrl = (shared: Shared, inherited: NodeJS.ProcessEnv) =>
  inherited['CHAT_API_URL'] || `${shared.chatUrl}/api/v10`;

/** The operator's key; otherwise that of the simulated platform, unless the operator has set a real platform. */
const publicKey = (shared: Shared, inherited: NodeJS.ProcessEnv) =>
  inherited['CHAT_APPLICATION_PUBLIC_KEY'] || (inherited['CHAT_API_URL'] ? undefined : shared.chatPublicKey);

/** The addresses of the simulators, unless the operator has set a real platform. */
function platforms(shared: Shared, inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = {
    CHAT_API_URL: chatApiUrl(shared, inherited),
    CHAT_BOT_TOKEN: inherited['CHAT_BOT_TOKEN'] || 'simulated-bot-token',
    ...openCloud(shared, inherited),
  };
  for (const name of GAME_URLS) environment[name] = inherited[name] || shared.gameUrl;
  return environment;
}

/** The address and the key of the game platform's API with keys. */
function openCloud(shared: Shared, inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    GAME_API_KEY: inherited['GAME_API_KEY'] || 'simulated-game-key',
    GAME_APIS_URL: inherited['GAME_APIS_URL'] || shared.gameUrl,
  };
}

/** The application of the console as the simulated providers know it. */
const SIMULATED = {
  chat: { id: '940000000000000001', secret: 'chat-client-secret' },
  oidc: { id: 'guild-data', secret: 'openid-client-secret' },
} as const;
const SIGN_IN = /^(?:CHAT_OAUTH|OIDC)_/;

/** The simulated providers, unless the operator has set others. */
function signIn(shared: Shared, inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const given = Object.entries(inherited).filter(([name, value]) => SIGN_IN.test(name) && value);
  const chatApi = { CHAT_API_URL: chatApiUrl(shared, inherited) };
  if (given.length > 0) return { ...chatApi, ...Object.fromEntries(given) };
  return {
    ...chatApi,
    CHAT_OAUTH_AUTHORIZE_URL: `${shared.chatUrl}/oauth2/authorize`,
    CHAT_OAUTH_CLIENT_ID: SIMULATED.chat.id,
    CHAT_OAUTH_CLIENT_SECRET: SIMULATED.chat.secret,
    OIDC_ISSUER: shared.oidcUrl,
    OIDC_CLIENT_ID: SIMULATED.oidc.id,
    OIDC_CLIENT_SECRET: SIMULATED.oidc.secret,
    OIDC_LABEL: 'Simulated OpenID provider',
  };
}

function portsOf(ports: Readonly<Record<string, Ports>>, name: string): Ports {
  const found = ports[name];
  if (!found) throw new Error(`no ports for ${name}`);
  return found;
}
