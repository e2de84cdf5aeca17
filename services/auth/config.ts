import {
  adminConfig,
  databaseConfig,
  type Environment,
  grpcConfig,
  keepAdminApart,
  processConfig,
  readConfig,
} from '#kit/config.ts';

const shape = { ...processConfig, ...databaseConfig, ...grpcConfig, ...adminConfig };

/** What auth is told; throws a ConfigError that lists every fault. */
export const readAuthConfig = (environment: Environment) => keepAdminApart(readConfig(shape, environment));

export type AuthConfig = ReturnType<typeof readAuthConfig>;
