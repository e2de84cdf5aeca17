import { join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError, databaseUrl, type Environment, origin, port, readConfig, redisUrl } from '#kit/service/config.ts';

export type Settings = {
  dataFolder: string;
  /** The folder of bundled programs; undefined if `npm start` writes them itself. */
  appFolder: string | undefined;
  gatewayPort: number;
  consolePort: number;
  /** The origin under which browsers open the console, if it is not this machine. */
  consoleUrl: string | undefined;
  /** Servers of the operator; undefined if `npm start` starts its own. */
  databaseUrl: string | undefined;
  databaseDirectUrl: string | undefined;
  redisUrl: string | undefined;
};

const variables = {
  DATA_DIR: z.string().optional(),
  /** A folder that `node deploy/bundle/app.ts FOLDER` has written. */
  APP_FOLDER: z.string().optional(),
  GATEWAY_PORT: port(8080),
  CONSOLE_URL: origin('http', 'https').optional(),
  DATABASE_URL: databaseUrl().optional(),
  DATABASE_DIRECT_URL: databaseUrl().optional(),
  REDIS_URL: redisUrl().optional(),
};

/** Reads the environment variables of `npm start`; throws a ConfigError that lists all faults. */
export function readSettings(environment: Environment, repository: string): Settings {
  const config = readConfig(variables, environment);
  if (config.DATABASE_DIRECT_URL !== undefined && config.DATABASE_URL === undefined) {
    throw new ConfigError(['DATABASE_DIRECT_URL needs DATABASE_URL']);
  }
  return {
    dataFolder: config.DATA_DIR === undefined ? join(repository, '.data') : resolve(config.DATA_DIR),
    appFolder: config.APP_FOLDER === undefined ? undefined : resolve(config.APP_FOLDER),
    gatewayPort: config.GATEWAY_PORT,
    consolePort: consolePort(config.GATEWAY_PORT, environment),
    consoleUrl: config.CONSOLE_URL,
    databaseUrl: config.DATABASE_URL,
    databaseDirectUrl: config.DATABASE_DIRECT_URL,
    redisUrl: config.REDIS_URL,
  };
}

/** CONSOLE_PORT; by default 10 more than GATEWAY_PORT, so that a second system needs only one other port. */
function consolePort(gatewayPort: number, environment: Environment): number {
  const fallback = gatewayPort === 0 ? 0 : Math.min(gatewayPort + 10, MAX_PORT);
  return readConfig({ CONSOLE_PORT: port(fallback) }, environment).CONSOLE_PORT;
}

const MAX_PORT = 65_535;
