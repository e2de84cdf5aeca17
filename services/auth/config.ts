import {
  ConfigError,
  databaseConfig,
  type Environment,
  grpcConfig,
  processConfig,
  readConfig,
  secrets,
} from '#kit/config.ts';

export type AuthConfig = ReturnType<typeof readAuthConfig>;

/** What auth is told; throws a ConfigError that lists every fault. */
export function readAuthConfig(environment: Environment) {
  const own = {
    /** For key administration: held by guildctl and this service alone. */
    ADMIN_SECRETS: secrets(),
  };
  const config = readConfig({ ...processConfig, ...databaseConfig, ...grpcConfig, ...own }, environment);
  if (config.ADMIN_SECRETS.some((secret) => config.INTERNAL_SECRETS.includes(secret))) {
    // Every service could make and change keys then.
    throw new ConfigError(['ADMIN_SECRETS must not hold a secret of INTERNAL_SECRETS']);
  }
  return config;
}
