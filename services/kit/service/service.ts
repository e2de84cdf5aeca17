import type { ProcessKeys } from '../security/keyring.ts';
import { purposesOf } from '../security/purposes.ts';
import { createLog, type Logger } from '../telemetry/log.ts';
import { ConfigError, type Environment } from './config.ts';
import { StoppedError } from './lifecycle.ts';
import { type ProcessConfig, ServiceContext, type ServiceOverrides } from './service-context.ts';

/** What a deployable is: a name, the variables it reads, and how its parts are put together. */
export interface ServiceDefinition<Config extends ProcessConfig> {
  name: string;
  /** Throws a ConfigError that lists every fault. */
  readConfig(environment: Environment): Config;
  build(service: ServiceContext<Config>): void;
}

export interface RunningService {
  name: string;
  /** `host:port` of each listener that the service has. */
  addresses: { admin: string; http?: string; grpc?: string };
  log: Logger;
  stop(): Promise<void>;
}

/** Starts a service; resolves once it is ready. Throws a ConfigError that lists every fault of the environment. */
export async function startService<Config extends ProcessConfig>(
  definition: ServiceDefinition<Config>,
  environment: Environment,
  overrides: ServiceOverrides = {},
): Promise<RunningService> {
  return startBuilt(await buildService(definition, environment, overrides));
}

/** Reads the configuration and puts the parts together; nothing listens yet. */
async function buildService<Config extends ProcessConfig>(
  definition: ServiceDefinition<Config>,
  environment: Environment,
  overrides: ServiceOverrides,
): Promise<ServiceContext<Config>> {
  const config = definition.readConfig(environment);
  const surplus = checkKeys(definition.name, config.INTERNAL_KEYS);
  const log = overrides.log ?? (await createLog({ service: definition.name, level: config.LOG_LEVEL }));
  if (surplus.length > 0) log.warn({ purposes: surplus }, 'INTERNAL_KEYS holds keys that this process must not have');
  const service = new ServiceContext(definition.name, config, log, overrides);
  definition.build(service);
  return service;
}

/** Throws a ConfigError that lists the keys that a process lacks; returns the purposes of those that it needs not. */
function checkKeys(name: string, keys: ProcessKeys): string[] {
  const needed = purposesOf(name);
  if (!needed) return [];
  const missing = needed.filter((purpose) => !keys.purposes.includes(purpose));
  if (missing.length > 0) throw new ConfigError(missing.map((purpose) => `INTERNAL_KEYS has no key for ${purpose}`));
  return keys.purposes.filter((purpose) => !needed.includes(purpose));
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

/** Runs a service as this process: SIGTERM and SIGINT drain it; what can't start says why and exits with 1. */
export async function runService<Config extends ProcessConfig>(definition: ServiceDefinition<Config>): Promise<void> {
  try {
    const service = await buildService(definition, process.env, {});
    stopOnSignal(service);
    await startBuilt(service);
  } catch (error) {
    // A signal came first: its handler ends the process.
    if (error instanceof StoppedError) return;
    console.error(`${definition.name} can not start: ${reason(error)}`);
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
  // A second signal, as Ctrl+C sends to a whole group, must not cut the first one's stop off.
  process.on('SIGTERM', (signal) => void stop(signal));
  process.on('SIGINT', (signal) => void stop(signal));
  const crash = (error: unknown) => {
    log.fatal({ err: error }, 'an error was not handled');
    process.exit(1);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}
