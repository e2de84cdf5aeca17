import { z } from 'zod';
import { redisUrlFault } from '../redis/url.ts';
import { ProcessKeys } from '../security/keyring.ts';
import { parseKeys, type Roots } from '../security/process-keys.ts';

/** Thrown at start; its message lists every fault of the environment and no value. */
export class ConfigError extends Error {
  constructor(faults: string[]) {
    super(`The configuration has ${faults.length} fault(s):\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

export type Environment = Record<string, string | undefined>;

/** Reads the variables that the shape names; throws a ConfigError that lists all faults at once. */
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

/** A whole number with a default. */
export const number = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  wholeNumber(min, max).default(fallback);

/** A port to listen on; 0 takes a free one. */
export const port = (fallback = 0) => wholeNumber(0, 65535).default(fallback);

/** `host:port` of a gRPC server, or a gRPC target such as `dns:///name:port`. */
export const grpcAddress = () =>
  z.string(required).regex(/^(?:dns:\/{3})?[^/\s]+:[0-9]{1,5}$/, { error: 'must be host:port or dns:///host:port' });

/** A URL of one of the given protocols, without a trailing slash. */
export const url = (...protocols: string[]) =>
  z
    .string(required)
    .refine((value) => protocols.includes(URL.parse(value)?.protocol.slice(0, -1) ?? ''), {
      error: `must be a URL that begins with ${protocols.map((name) => `${name}://`).join(' or ')}`,
    })
    .transform((value) => value.replace(/\/+$/, ''));

/** A URL that paths are appended to: it may have a path of its own, but nothing that stands behind or before one. */
export const baseUrl = (...protocols: string[]) =>
  url(...protocols).refine((value) => isBase(URL.parse(value)), {
    error: 'must be a URL without query, fragment and credentials',
  });

/** A URL of one of our services. Its path would be dropped on one way there and put before the request's on the other. */
export const origin = (...protocols: string[]) =>
  url(...protocols).refine((value) => isBase(URL.parse(value)) && URL.parse(value)?.pathname === '/', {
    error: 'must be a URL without path, query, fragment and credentials, such as http://host:8080',
  });

function isBase(parsed: URL | null): boolean {
  return parsed !== null && parsed.href === `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

/** Where Redis is; the syntax is that of `parseRedisUrl`. */
export const redisUrl = () =>
  z.string(required).superRefine((value, context) => {
    const fault = redisUrlFault(value);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
  });

const truth = () =>
  z.enum(['true', 'false'], { error: 'must be true or false' }).transform((value) => value === 'true');

/** `true` or `false`. */
export const flag = (fallback: boolean) => truth().default(fallback);

/** A list parted by commas; empty when left out. */
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

/** One or two secrets parted by a comma, the newest first; each at least 32 bytes. */
export const secrets = () =>
  z
    .string(required)
    .transform((value) => value.split(',').map((part) => part.trim()))
    .refine((all) => all.length <= 2, { error: 'must hold at most two secrets' })
    .refine((all) => all.every((secret) => Buffer.byteLength(secret) >= 32), {
      error: 'must hold secrets of at least 32 bytes, for example from `openssl rand -base64 48`',
    });

/** The derived keys of one process, as `guildctl secrets derive` prints them. */
export const processKeys = () =>
  z.string(required).transform((text, context) => {
    try {
      return new ProcessKeys(parseKeys(text));
    } catch (fault) {
      context.addIssue({ code: 'custom', message: (fault as Error).message });
      return z.NEVER;
    }
  });

/** A root secret, which no process that serves requests may hold. */
const rootSecret = () =>
  z
    .undefined({ error: 'must not be given to a process that serves requests: derive INTERNAL_KEYS from it' })
    .optional();

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** What every process is told. */
export const processConfig = {
  LISTEN_HOST: z.string().default('0.0.0.0'),
  /** Where metrics and probes are served: for this machine alone, unless a container says otherwise. */
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: port(),
  LOG_LEVEL: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }).default('info'),
  /** How long a stop may take before what is left is cut off; the drain delay is part of it. */
  STOP_SECONDS: number(25, 1, 600),
  /** How long a process that is not ready any more still takes requests: until all balancers know. */
  DRAIN_DELAY_SECONDS: number(0, 0, 8),
  /** One derived key for each combination of caller and audience in which the process takes part. */
  INTERNAL_KEYS: processKeys(),
  INTERNAL_SECRETS: rootSecret(),
  ADMIN_SECRETS: rootSecret(),
  /** PEM files: all three or none; with them processes speak mutual TLS with each other. */
  INTERNAL_TLS_CERT_FILE: z.string().optional(),
  INTERNAL_TLS_KEY_FILE: z.string().optional(),
  INTERNAL_TLS_CA_FILE: z.string().optional(),
};

/** What every service with a schema of its own is told. */
export const databaseConfig = {
  DATABASE_URL: url('postgres', 'postgresql'),
  /** Past a transaction pooler, for LISTEN and migrations; left out where DATABASE_URL leads through none. */
  DATABASE_DIRECT_URL: url('postgres', 'postgresql').optional(),
  /** Whether connections keep prepared statements; when left out they do unless DATABASE_DIRECT_URL is set. */
  PG_PREPARE: truth().optional(),
  PG_POOL_MAX: number(5, 1, 100),
};

/**
 * Whether a service's connections keep prepared statements: behind a transaction pooler the next transaction may have
 * another session, without them.
 */
export function keepsPrepared({
  PG_PREPARE,
  DATABASE_DIRECT_URL,
}: {
  PG_PREPARE?: boolean | undefined;
  DATABASE_DIRECT_URL?: string | undefined;
}): boolean {
  return PG_PREPARE ?? DATABASE_DIRECT_URL === undefined;
}

/** What every service with queues is told. */
export const queueConfig = {
  /** Failed attempts after which an item of a queue is a dead letter; eight of them take about two minutes. */
  QUEUE_MAX_ATTEMPTS: number(12, 8, 1_000),
  /** For so long attempts do not count while what the queue needs is down for all of its items. */
  QUEUE_MAX_OUTAGE_SECONDS: number(24 * 3600, 60),
};

/** When the items of a service's queues are given up. */
export const queueLimits = (config: { QUEUE_MAX_ATTEMPTS: number; QUEUE_MAX_OUTAGE_SECONDS: number }) => ({
  maxAttempts: config.QUEUE_MAX_ATTEMPTS,
  maxOutageSeconds: config.QUEUE_MAX_OUTAGE_SECONDS,
});

/** The root secrets: for guildctl and for what derives the keys of processes. */
export const rootConfig = { INTERNAL_SECRETS: secrets(), ADMIN_SECRETS: secrets() };

/** Reads both root secrets; a ConfigError also where they share one, for then every service could act as an operator. */
export function readRoots(environment: Environment): Roots {
  const { INTERNAL_SECRETS: internal, ADMIN_SECRETS: admin } = readConfig(rootConfig, environment);
  if (!admin.some((secret) => internal.includes(secret))) return { internal, admin };
  throw new ConfigError(['ADMIN_SECRETS must not hold a secret of INTERNAL_SECRETS']);
}

/** What every process that uses Redis is told; without it each does with what it has in memory. */
export const redisConfig = {
  REDIS_URL: redisUrl().optional(),
  /** A CA of the operator's own for `rediss`, PEM; those that Node knows when left out. */
  REDIS_TLS_CA_FILE: z.string().optional(),
};

/** What every service that answers gRPC is told. */
export const grpcConfig = { GRPC_PORT: port(), GRPC_REFLECTION: flag(true) };

/** What every service that answers REST routes is told. */
export const httpConfig = { HTTP_PORT: port() };
