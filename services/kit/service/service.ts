import type { ProcessKeys } from '../security/keyring.ts';
import { purposesOf } from '../security/purposes.ts';
import { createLog, type Logger } from '../telemetry/log.ts';
import { ConfigError, type Environment } from './config.ts';
import { StoppedError } from './lifecycle.ts';
import { type CaVariable, faultsOfProcess } from './process-faults.ts';
import { type ProcessConfig, ServiceContext, type ServiceOverrides } from './service-context.ts';

/** Defines a service: its name, the environment variables that it reads, and the parts that it consists of. */
export interface ServiceDefinition<Config extends ProcessConfig> {
  name: string;
  /** Reads the configuration of the service. Throws a ConfigError that lists every configuration error. */
  readConfig(environment: Environment): Config;
  /** The environment variables with files of CAs that the service reads; the files are checked before it is built. */
  caFiles?: readonly CaVariable[];
  build(service: ServiceContext<Config>): void;
}

export interface RunningService {
  name: string;
  /** The address of each server of the service as `host:port`. */
  addresses: { admin: string; http?: string; grpc?: string };
  log: Logger;
  stop(): Promise<void>;
}

/**
 * Starts a service and resolves when the service is ready. Throws a ConfigError that lists every configuration error.
 */
export async function startService<Config extends ProcessConfig>(
  definition: ServiceDefinition<Config>,
  environment: Environment,
  overrides: ServiceOverrides = {},
): Promise<RunningService> {
  return startBuilt(await buildService(definition, environment, overrides));
}

/** Reads the configuration of a service and creates the parts of the service, without starting them. */
async function buildService<Config extends ProcessConfig>(
  definition: ServiceDefinition<Config>,
  environment: Environment,
  overrides: ServiceOverrides,
): Promise<ServiceContext<Config>> {
  const config = readWholeConfig(definition, environment);
  const surplus = surplusKeys(definition.name, config.INTERNAL_KEYS);
  const log = overrides.log ?? (await createLog({ service: definition.name, level: config.LOG_LEVEL }));
  if (surplus.length > 0)
    log.warn({ purposes: surplus }, 'INTERNAL_KEYS contains keys that this process must not have');
  const service = new ServiceContext({ name: definition.name, config, log, overrides });
  definition.build(service);
  return service;
}

/** Reads the configuration of a service. Throws a ConfigError that lists its errors and those of the whole process. */
function readWholeConfig<Config extends ProcessConfig>(
  definition: ServiceDefinition<Config>,
  environment: Environment,
): Config {
  const faults = faultsOfProcess(definition, environment);
  try {
    const config = definition.readConfig(environment);
    if (faults.length === 0) return config;
  } catch (error) {
    if (error instanceof ConfigError) throw new ConfigError([...error.faults, ...faults]);
    throw error;
  }
  throw new ConfigError(faults);
}

/** Returns the purposes of keys that the process must not have. */
function surplusKeys(name: string, keys: ProcessKeys): string[] {
  const needed = purposesOf(name);
  return needed ? keys.purposes.filter((purpose) => !needed.includes(purpose)) : [];
}

async function startBuilt<Config extends ProcessConfig>(service: ServiceContext<Config>): Promise<RunningService> {
  const { lifecycle, readiness, log, name } = service;
  await lifecycle.start();
  readiness.set(true);
  const addresses = { admin: service.admin.address, http: service.http?.address, grpc: service.grpc?.address };
  log.info({ addresses }, `${name} is ready`);
  const stop = async () => {
    readiness.set(false);
    await lifecycle.stop(drainDelayMs(service));
    log.info(`${name} has stopped`);
  };
  return { name, addresses, log, stop };
}

/**
 * Runs a service as this process. SIGTERM and SIGINT drain the service. If the service cannot start, the process prints
 * why and exits with 1.
 */
export async function runService<Config extends ProcessConfig>(definition: ServiceDefinition<Config>): Promise<void> {
  try {
    const service = await buildService(definition, process.env, {});
    stopOnSignal(service);
    await startBuilt(service);
  } catch (error) {
    // A signal stopped the service while it was starting; the signal handler exits the process.
    if (error instanceof StoppedError) return;
    console.error(`${definition.name} cannot start: ${reason(error)}`);
    process.exit(1);
  }
}

const drainDelayMs = ({ config }: ServiceContext<ProcessConfig>) => config.DRAIN_DELAY_SECONDS * 1000;

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${reason(error.cause)}`;
}

function stopOnSignal<Config extends ProcessConfig>(service: ServiceContext<Config>): void {
  const { config, lifecycle, readiness, log, name } = service;
  const stop = async (signal: string) => {
    log.info({ signal }, `${name} is stopping`);
    readiness.set(false);
    setTimeout(() => process.exit(1), config.STOP_SECONDS * 1000).unref();
    await lifecycle.stop(drainDelayMs(service));
    process.exit(0);
  };
  // A second signal does not interrupt the stop: Ctrl+C in a terminal signals the whole process group.
  process.on('SIGTERM', (signal) => void stop(signal));
  process.on('SIGINT', (signal) => void stop(signal));
  const crash = (error: unknown) => {
    log.fatal({ err: error }, 'unhandled error, the process exits');
    process.exit(1);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}
