import { join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError, type Environment, port, readConfig, redisUrl, url } from '#kit/service/config.ts';

export type Settings = {
  dataFolder: string;
  gatewayPort: number;
  /** Servers of the operator; undefined if `npm start` starts its own. */
  databaseUrl: string | undefined;
  databaseDirectUrl: string | undefined;
  redisUrl: string | undefined;
};

const variables = {
  DATA_DIR: z.string().optional(),
  GATEWAY_PORT: port(8080),
  DATABASE_URL: url('postgres', 'postgresql').optional(),
  DATABASE_DIRECT_URL: url('postgres', 'postgresql').optional(),
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
    gatewayPort: config.GATEWAY_PORT,
    databaseUrl: config.DATABASE_URL,
    databaseDirectUrl: config.DATABASE_DIRECT_URL,
    redisUrl: config.REDIS_URL,
  };
}
