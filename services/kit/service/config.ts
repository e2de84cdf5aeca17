import { z } from 'zod';
import { databaseUrlFault } from '../postgres/hosts/url.ts';
import { redisUrlFault } from '../redis/url.ts';
import { ProcessKeys } from '../security/keyring.ts';
import { parseKeys } from '../security/process-keys.ts';
import { pairs } from './pairs.ts';

/** Thrown when a process starts with an invalid configuration. The message lists every error, without values. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The configuration has ${faults.length} error(s):\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

export type Environment = Record<string, string | undefined>;

/**
 * Reads the environment variables in `shape` and validates them. `faultsTogether` returns the errors that concern
 * several variables. Throws a ConfigError that lists all errors together.
 */
export function readConfig<Shape extends z.ZodRawShape>(
  shape: Shape,
  environment: Environment,
  faultsTogether: (given: Environment) => string[] = () => [],
): z.output<z.ZodObject<Shape>> {
  const given = Object.fromEntries(Object.keys(shape).map((name) => [name, environment[name] || undefined]));
  const result = z.object(shape).safeParse(given);
  const single = result.success ? [] : result.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
  const faults = [...single, ...faultsTogether(given)];
  if (result.success && faults.length === 0) return result.data;
  throw new ConfigError(faults);
}

export const required = {
  error: (issue: { input: unknown }) => (issue.input === undefined ? 'is required' : 'is not valid'),
};

const wholeNumber = (min: number, max: number) =>
  z
    .string(required)
    .regex(/^[0-9]{1,16}$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(
      z
        .int({ error: `must be at most ${max}`, abort: true }) // Sixteen digits may be more than the largest safe integer.
        .min(min, { error: `must be at least ${min}` })
        .max(max, { error: `must be at most ${max}` }),
    );

/** Describes an environment variable that holds a whole number, with a default. */
export const number = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  wholeNumber(min, max).default(fallback);

/** Describes an environment variable that holds a number from 0 to 1, with a default. */
export const ratio = (fallback: number) =>
  z
    .string()
    .regex(/^(?:0|1|0?\.[0-9]{1,9}|1\.0{1,9})$/, {
      error: 'must be a decimal number from 0 to 1, such as 0.01',
    })
    .transform(Number)
    .pipe(z.number().min(0).max(1))
    .default(fallback);

/** Describes an environment variable that holds a port to listen on; 0 chooses a free port. */
export const port = (fallback = 0) => wholeNumber(0, 65535).default(fallback);

/** Describes an environment variable that holds the address of a gRPC server: `host:port` or `dns:///name:port`. */
export const grpcAddress = () =>
  z.string(required).regex(/^(?:dns:\/{3})?[^/\s]+:[0-9]{1,5}$/, { error: 'must be host:port or dns:///host:port' });

/** The text of a URL with one of these protocols. The chart's schema has the same patterns. */
const urlText = (protocols: readonly string[]) => {
  const error = `must be a URL that begins with ${protocols.map((name) => `${name}://`).join(' or ')}`;
  return z
    .string(required)
    .regex(new RegExp(`^(?:${protocols.join('|')})://\\S+$`), { error, abort: true })
    .refine((value) => URL.canParse(value), { error, abort: true });
};

/** The regular expression of a host with an optional port of at most 65535; the chart's schema contains it too. */
const HOST_AND_PORT = String.raw`(?:\[[0-9a-fA-F:.]+\]|[^/?#@:\[\]]+)(?::(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?`;

const withoutTrailingSlash = (value: string) => value.replace(/\/+$/, '');

/** Describes an environment variable that holds a URL with one of these protocols; a trailing slash is removed. */
export const url = (...protocols: string[]) => urlText(protocols).transform(withoutTrailingSlash);

/** Describes an environment variable that holds the start of URLs: a path is possible; credentials, query and fragment are not. */
export const baseUrl = (...protocols: string[]) => {
  const error = 'must be a URL without query, fragment and credentials';
  return urlText(protocols)
    .regex(new RegExp(`^[a-z]+://${HOST_AND_PORT}(?:/[^?#]*)?$`), { error, abort: true })
    .transform(withoutTrailingSlash)
    .refine((value) => isBase(URL.parse(value)), { error });
};

/**
 * Describes an environment variable that holds the URL of one of our services. The URL must have no path, because not
 * every HTTP client would prepend the path to that of the request.
 */
export const origin = (...protocols: string[]) => {
  const error = 'must be a URL without path, query, fragment and credentials, such as http://host:8080';
  return urlText(protocols)
    .regex(new RegExp(`^[a-z]+://${HOST_AND_PORT}/*$`), { error, abort: true })
    .transform(withoutTrailingSlash)
    .refine((value) => isBase(URL.parse(value)) && URL.parse(value)?.pathname === '/', { error });
};

function isBase(parsed: URL | null): boolean {
  return parsed !== null && parsed.href === `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

const textWithout = (faultOf: (text: string) => string | undefined) =>
  z.string(required).superRefine((value, context) => {
    const fault = faultOf(value);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
  });

/** Describes an environment variable that holds the URL of Redis, in the syntax of `parseRedisUrl`. */
export const redisUrl = () => textWithout(redisUrlFault);

/** Describes an environment variable that holds the URL of PostgreSQL, with one or several hosts. */
export const databaseUrl = () => textWithout(databaseUrlFault).transform(withoutTrailingSlash);

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

/**
 * The environment variables for traces. Without an endpoint nothing is traced. The names that begin with OTEL_ are those
 * of OpenTelemetry.
 */
export const tracingConfig = {
  /** The base URL of a collector that receives OTLP over HTTP with protobuf, such as http://collector:4318. */
  OTEL_EXPORTER_OTLP_ENDPOINT: baseUrl('http', 'https').optional(),
  /** Headers of the requests to the collector, such as a token. */
  OTEL_EXPORTER_OTLP_HEADERS: pairs(),
  /** The PEM file of a private CA of the collector; Node's CAs if left out. */
  OTEL_EXPORTER_OTLP_CERTIFICATE: z.string().optional(),
  /** Attributes of this installation that every span has. */
  OTEL_RESOURCE_ATTRIBUTES: pairs(),
  /** The share of requests whose trace is sampled. */
  TRACING_SAMPLE_RATIO: ratio(0.01),
  /** How many traces per second are sampled in addition because the client samples them, in each gateway and console. */
  TRACING_CALLER_SAMPLES_PER_SECOND: number(1, 0, 10_000),
  /** How long, in milliseconds, spans are collected before they are sent, unless a batch is full earlier. */
  OTEL_BSP_SCHEDULE_DELAY: number(5_000, 10, 60_000),
};

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
   * The maximum duration of a stop in seconds, including the drain delay: at least 17 more than DRAIN_DELAY_SECONDS.
   * After it the process exits even with requests in flight.
   */
  STOP_SECONDS: number(25, 1, 600),
  /**
   * How long, in seconds, a process still accepts requests after it stops being ready, so that load balancers can
   * notice.
   */
  DRAIN_DELAY_SECONDS: number(0, 0, 120),
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
  ...tracingConfig,
};

/** The environment variables of every service with its own database schema. */
export const databaseConfig = {
  DATABASE_URL: databaseUrl(),
  /** The database URL that bypasses the transaction pooler, for LISTEN and migrations; not needed without a pooler. */
  DATABASE_DIRECT_URL: databaseUrl().optional(),
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
