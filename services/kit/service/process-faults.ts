import { z } from 'zod';
import { MIN_SECONDS_AFTER_DRAIN_DELAY } from '../http/server.ts';
import { readCa } from '../security/extra-ca.ts';
import { purposesOf } from '../security/purposes.ts';
import { faultsOfInternalTls } from '../security/tls-identity.ts';
import { ConfigError, type Environment, processConfig, processKeys } from './config.ts';

/** An environment variable with the PEM file of CAs that a service trusts. */
export type CaVariable = 'REDIS_TLS_CA_FILE' | 'PLATFORMS_CA_FILE' | 'WEBHOOKS_CA_FILE';

/**
 * Returns the configuration errors of a process that no variable shows by itself: a stop that is too short, missing
 * keys, unusable certificate files. A variable that is invalid by itself is reported by `readConfig`, and not here.
 */
export function faultsOfProcess(
  { name, caFiles = [] }: { name: string; caFiles?: readonly CaVariable[] },
  environment: Environment,
): string[] {
  return [
    ...faultsOfStop(environment),
    ...faultsOfKeys(name, environment),
    ...faultsOfInternalTls(environment),
    ...caVariables(caFiles, environment).flatMap((variable) => faultsOfCa(variable, environment[variable])),
  ];
}

/** Returns the fault of a stop that is too short for the drain delay; none if either is invalid by itself. */
function faultsOfStop(environment: Environment): string[] {
  const { STOP_SECONDS, DRAIN_DELAY_SECONDS } = processConfig;
  const times = z.object({ STOP_SECONDS, DRAIN_DELAY_SECONDS }).safeParse({
    STOP_SECONDS: environment['STOP_SECONDS'] || undefined,
    DRAIN_DELAY_SECONDS: environment['DRAIN_DELAY_SECONDS'] || undefined,
  });
  if (!times.success) return [];
  const minStopSeconds = times.data.DRAIN_DELAY_SECONDS + MIN_SECONDS_AFTER_DRAIN_DELAY;
  if (times.data.STOP_SECONDS >= minStopSeconds) return [];
  const needed = `DRAIN_DELAY_SECONDS + ${MIN_SECONDS_AFTER_DRAIN_DELAY}, which is ${minStopSeconds}`;
  return [`STOP_SECONDS must be at least ${needed}`];
}

/** Returns a fault for each key that the process needs and does not have. */
function faultsOfKeys(name: string, environment: Environment): string[] {
  const keys = processKeys().safeParse(environment['INTERNAL_KEYS'] || undefined);
  if (!keys.success) return [];
  const missing = (purposesOf(name) ?? []).filter((purpose) => !keys.data.purposes.includes(purpose));
  return missing.map((purpose) => `INTERNAL_KEYS has no key for ${purpose}`);
}

/** The variables whose files are read: those of Redis and of the collector only if they are used over TLS. */
function caVariables(own: readonly CaVariable[], environment: Environment): string[] {
  const used = own.filter((name) => name !== 'REDIS_TLS_CA_FILE' || environment['REDIS_URL']?.startsWith('rediss'));
  return environment['OTEL_EXPORTER_OTLP_ENDPOINT'] ? [...used, 'OTEL_EXPORTER_OTLP_CERTIFICATE'] : used;
}

function faultsOfCa(variable: string, file: string | undefined): readonly string[] {
  if (!file) return [];
  try {
    readCa(variable, file);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}
