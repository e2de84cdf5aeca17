import { z } from 'zod';
import { redisUrlFault } from '../redis/url.ts';
import { ProcessKeys } from '../security/keyring.ts';
import { parseKeys, type Roots } from '../security/process-keys.ts';

/**
 * Thrown when a process starts with an invalid configuration. The message lists every configuration error, without any
 * value of the environment.
 */
export class ConfigError extends Error {
  constructor(faults: string[]) {
    super(`The configuration has ${faults.length} error(s):\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

export type Environment = Record<string, string | undefined>;

/**
 * Reads the environment variables in `shape` and validates them. Throws a ConfigError that lists all errors together.
 */
export function readConfig<Shape extends z.ZodRawShape>(
  shape: Shape,
  environment: Environment,
): z.output<z.ZodObject<Shape>> {
  const given = Object.keys(shape).map((name) => [name, environment[name] || undefined]);
  const result = z.object(shape).safeParse(Object.fromEntries(given));
  if (result.success) return result.data;
  throw new ConfigError(result.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`));
}

const required = { error: (issue: { input: unknown }) => (issue.input === undefined ? 'is required' : 'is not valid') };

const wholeNumber = (min: number, max: number) =>
  z
    .string(required)
    .regex(/^[0-9]{1,16}$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(
      z
        .number()
        .min(min, { error: `must be at least ${min}` })
        .max(max, { error: `must be at most ${max}` }),
    );

/** Describes an environment variable that holds a whole number, with a default. */
export const number = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  wholeNumber(min, max).default(fallback);

/** Describes an environment variable that holds a port to listen on; 0 chooses a free port. */
export const port = (fallback = 0) => wholeNumber(0, 65535).default(fallback);

/** Describes an environment variable that holds the address of a gRPC server: `host:port` or `dns:///name:port`. */
export const grpcAddress = () =>
  z.string(required).regex(/^(?:dns:\/{3})?[^/\s]+:[0-9]{1,5}$/, { error: 'must be host:port or dns:///host:port' });

/** Describes an environment variable that holds a URL with one of these protocols; a trailing slash is removed. */
export const url = (...protocols: string[]) =>
  z
    .string(required)
    .refine((value) => protocols.includes(URL.parse(value)?.protocol.slice(0, -1) ?? ''), {
      error: `must be a URL that begins with ${protocols.map((name) => `${name}://`).join(' or ')}`,
    })
    .transform((value) => value.replace(/\/+$/, ''));

/**
 * Describes an environment variable that holds the start of URLs: it may have a path, but no credentials, query or
 * fragment.
 */
export const baseUrl = (...protocols: string[]) =>
  url(...protocols).refine((value) => isBase(URL.parse(value)), {
    error: 'must be a URL without query, fragment and credentials',
  });

/**
 * Describes an environment variable that holds the URL of one of our services. The URL must have no path, because not
 * every HTTP client would prepend the path to that of the request.
 */
export const origin = (...protocols: string[]) =>
  url(...protocols).refine((value) => isBase(URL.parse(value)) && URL.parse(value)?.pathname === '/', {
    error: 'must be a URL without path, query, fragment and credentials, such as http://host:8080',
  });

function isBase(parsed: URL | null): boolean {
  return parsed !== null && parsed.href === `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

/** Describes an environment variable that holds the URL of Redis, in the syntax of `parseRedisUrl`. */
export const redisUrl = () =>
  z.string(required).superRefine((value, context) => {
    const fault = redisUrlFault(value);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
  });

const trueOrFalse = () =>
  z.enum(['true', 'false'], { error: 'must be true or false' }).transform((value) => value === 'true');

/** Describes an environment variable that is `true` or `false`, with a default. */
export const flag = (fallback: boolean) => trueOrFalse().default(fallback);

/** Describes an environment variable that holds a list separated by commas; the list is empty if left out. */
export const list = (item: z.ZodType<string, string>) =>
  z
    .string()
    .default('')
    .transform((value) =>
      value
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean),
    )
    .pipe(z.array(item));

/**
 * Describes an environment variable that holds one or two secrets separated by a comma, the newest first, of at least
 * 32 bytes each.
 */
export const secrets = () =>
  z
    .string(required)
    .transform((value) => value.split(',').map((part) => part.trim()))
    .refine((all) => all.length <= 2, { error: 'must hold at most two secrets' })
    .refine((all) => all.every((secret) => Buffer.byteLength(secret) >= 32), {
      error: 'must hold secrets of at least 32 bytes, for example from `openssl rand -base64 48`',
    });

/**
 * Describes an environment variable that holds the derived keys of one process, as `guildctl secrets derive` prints
 * them.
 */
export const processKeys = () =>
  z.string(required).transform((text, context) => {
    try {
      return new ProcessKeys(parseKeys(text));
    } catch (fault) {
      context.addIssue({ code: 'custom', message: (fault as Error).message });
      return z.NEVER;
    }
  });

/** Describes an environment variable for root secrets, which is an error in a process that serves requests. */
const rootSecret = () =>
  z
    .undefined({ error: 'must not be given to a process that serves requests: derive INTERNAL_KEYS from it' })
    .optional();

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** The environment variables of every process. */
export const processConfig = {
  LISTEN_HOST: z.string().default('0.0.0.0'),
  /**
   * The address on which metrics and health probes are served; by default only this machine can reach it. Containers
   * set it.
   */
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: port(),
  LOG_LEVEL: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }).default('info'),
  /**
   * The maximum duration of a stop in seconds, including the drain delay. After it the process exits even with requests
   * in flight.
   */
  STOP_SECONDS: number(25, 1, 600),
  /**
   * How long, in seconds, a process still accepts requests after it stops being ready, so that load balancers can
   * notice.
   */
  DRAIN_DELAY_SECONDS: number(0, 0, 8),
  /**
   * The derived keys of the process: one for each pair of caller and called service in which the process takes part.
   */
  INTERNAL_KEYS: processKeys(),
  INTERNAL_SECRETS: rootSecret(),
  ADMIN_SECRETS: rootSecret(),
  /** The PEM files for mutual TLS between processes: set all three or none. */
  INTERNAL_TLS_CERT_FILE: z.string().optional(),
  INTERNAL_TLS_KEY_FILE: z.string().optional(),
  INTERNAL_TLS_CA_FILE: z.string().optional(),
};

/** The environment variables of every service with its own database schema. */
export const databaseConfig = {
  DATABASE_URL: url('postgres', 'postgresql'),
  /** The database URL that bypasses the transaction pooler, for LISTEN and migrations; not needed without a pooler. */
  DATABASE_DIRECT_URL: url('postgres', 'postgresql').optional(),
  /** True if database connections may use prepared statements; by default true unless DATABASE_DIRECT_URL is set. */
  PG_PREPARE: trueOrFalse().optional(),
  PG_POOL_MAX: number(5, 1, 100),
};

/**
 * True if a service may use prepared statements. With a transaction pooler it may not, because each transaction may run
 * in another session.
 */
export function canPrepare({
  PG_PREPARE,
  DATABASE_DIRECT_URL,
}: {
  PG_PREPARE?: boolean | undefined;
  DATABASE_DIRECT_URL?: string | undefined;
}): boolean {
  return PG_PREPARE ?? DATABASE_DIRECT_URL === undefined;
}

/** The environment variables of every service with queues. */
export const queueConfig = {
  /** The number of failed attempts after which a queue item is a dead letter; eight attempts take about two minutes. */
  QUEUE_MAX_ATTEMPTS: number(12, 8, 1_000),
  /** How long, in seconds, failed attempts do not count while a dependency of the whole queue is down. */
  QUEUE_MAX_OUTAGE_SECONDS: number(24 * 3600, 60),
};

/** Returns the limits after which the items of a service's queues become dead letters. */
export const queueLimits = (config: { QUEUE_MAX_ATTEMPTS: number; QUEUE_MAX_OUTAGE_SECONDS: number }) => ({
  maxAttempts: config.QUEUE_MAX_ATTEMPTS,
  maxOutageSeconds: config.QUEUE_MAX_OUTAGE_SECONDS,
});

/** The environment variables with the root secrets, for guildctl and for programs that derive the keys of processes. */
export const rootConfig = { INTERNAL_SECRETS: secrets(), ADMIN_SECRETS: secrets() };

/**
 * Reads the root secrets. Throws a ConfigError if the internal and the admin secrets share one: then every service
 * could act as an operator.
 */
export function readRoots(environment: Environment): Roots {
  const { INTERNAL_SECRETS: internal, ADMIN_SECRETS: admin } = readConfig(rootConfig, environment);
  if (!admin.some((secret) => internal.includes(secret))) return { internal, admin };
  throw new ConfigError(['ADMIN_SECRETS must not hold a secret of INTERNAL_SECRETS']);
}

/** The environment variables of every process that uses Redis; without REDIS_URL a process uses only its own memory. */
export const redisConfig = {
  REDIS_URL: redisUrl().optional(),
  /** The PEM file of a private CA for `rediss` URLs; Node's CAs if left out. */
  REDIS_TLS_CA_FILE: z.string().optional(),
};

/** The environment variables of every gRPC server. */
export const grpcConfig = { GRPC_PORT: port(), GRPC_REFLECTION: flag(true) };

/** The environment variables of every service that records events. */
export const eventsConfig = { EVENTS_GRPC_ADDRESS: grpcAddress() };

/** The environment variables of every service with REST routes. */
export const httpConfig = { HTTP_PORT: port() };
