import {
  type Environment,
  grpcAddress,
  list,
  number,
  origin,
  port,
  processConfig,
  readConfig,
  redisConfig,
} from '#kit/service/config.ts';
import { network } from '#kit/service/network.ts';

/** The environment variables of the console. */
export const consoleVariables = {
  ...processConfig,
  ...redisConfig,
  /** The port to which browsers connect. */
  CONSOLE_PORT: port(8090),
  /**
   * The origin under which browsers open the console, such as https://console.example.com. Requests that write are only
   * accepted from it.
   */
  CONSOLE_URL: origin('http', 'https'),
  /** The URL at which clients of the API reach the gateway, for the script that uses a new key. */
  PUBLIC_URL: origin('http', 'https').optional(),
  /** The addresses of proxies whose X-Forwarded-For header is trusted. */
  TRUSTED_PROXIES: list(network()),
  AUTH_GRPC_ADDRESS: grpcAddress(),
  AUTH_HTTP_URL: origin('http', 'https'),
  LOOKUP_HTTP_URL: origin('http', 'https'),
  BINDINGS_HTTP_URL: origin('http', 'https'),
  MEMBERS_HTTP_URL: origin('http', 'https'),
  ACTIVITY_HTTP_URL: origin('http', 'https'),
  MODERATION_HTTP_URL: origin('http', 'https'),
  EVENTS_HTTP_URL: origin('http', 'https'),
  /** The number of consoles that share the rate limits while Redis is unavailable. */
  CONSOLE_REPLICAS: number(1, 1, 1000),
  /** The maximum number of requests in flight; more get 503. One person may have 8. */
  MAX_IN_FLIGHT: number(100, 1, 10_000),
  /** The maximum number of open streams of events; more get 503. One person may have 5. */
  MAX_STREAMS: number(500, 1, 100_000),
  /** The maximum number of open client connections. */
  MAX_CONNECTIONS: number(2_000, 1, 1_000_000),
  /** A browser that reads none of the bytes sent to it for this many milliseconds is disconnected. */
  CLIENT_WRITE_TIMEOUT_MS: number(10_000, 100, 600_000),
  /** The timeout of a request from the console to a service, in milliseconds. */
  SERVICE_TIMEOUT_MS: number(8_000, 1, 60_000),
  /**
   * How long an idle client connection stays open, in seconds. Must be longer than in the load balancer in front.
   */
  KEEP_ALIVE_SECONDS: number(75, 1, 3600),
};

/** Reads the console's environment variables. Throws a ConfigError that lists every invalid variable. */
export const readConsoleConfig = (environment: Environment) => readConfig(consoleVariables, environment);

export type ConsoleConfig = ReturnType<typeof readConsoleConfig>;
