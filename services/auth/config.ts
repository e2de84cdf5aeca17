import { databaseConfig, type Environment, grpcConfig, processConfig, readConfig } from '#kit/config.ts';

const shape = { ...processConfig, ...databaseConfig, ...grpcConfig };

/** What auth is told; throws a ConfigError that lists every fault. */
export const readAuthConfig = (environment: Environment) => readConfig(shape, environment);

export type AuthConfig = ReturnType<typeof readAuthConfig>;
