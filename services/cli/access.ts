import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Credential, readCredential } from '#kit/grpc/operators.ts';
import { type KeyRing, SecretRing } from '#kit/security/keyring.ts';
import { callPurpose, OPERATORS } from '#kit/security/purposes.ts';
import { ConfigError, type Environment, grpcAddress, processKeys, readConfig } from '#kit/service/config.ts';
import { secrets } from '#kit/service/root-secrets.ts';
import { ConnectionError, UsageError } from './errors.ts';
import { dataFolder, localAddress, localAdminSecret, localProcesses } from './local-system.ts';

const OPERATORS_CONFIG = { INTERNAL_KEYS: processKeys().optional(), ADMIN_SECRETS: secrets().optional() };

/**
 * Returns the gRPC address of a service: the variable GUILDCTL_<SERVICE>; without it, the address in the system that
 * `npm start` runs on this machine.
 */
export function readAddress(environment: Environment, service: string): string {
  const variable = `GUILDCTL_${service.toUpperCase()}`;
  readConfig({ [variable]: grpcAddress().optional(), ...OPERATORS_CONFIG }, environment);
  return environment[variable] || localAddress(dataFolder(environment), service, variable);
}

/** How guildctl authenticates to the auth service: as a named operator, or with the operators' keys as root. */
export type Identity = { credential: Credential; ring?: undefined } | { credential?: undefined; ring: KeyRing };

/**
 * Returns the identity from the first of these sources: the credential in OPERATOR_CREDENTIAL; the keys in
 * INTERNAL_KEYS or ADMIN_SECRETS; the credential in the file `secrets/operator` in DATA_DIR; the secret of the system
 * that `npm start` runs on this machine.
 */
export function readIdentity(environment: Environment, service: string): Identity {
  const text = environment['OPERATOR_CREDENTIAL']?.trim();
  if (text) return { credential: parseCredential(text, 'OPERATOR_CREDENTIAL') };
  const { INTERNAL_KEYS, ADMIN_SECRETS } = readConfig(OPERATORS_CONFIG, environment);
  const path = join(dataFolder(environment), 'secrets', 'operator');
  if (!INTERNAL_KEYS && !ADMIN_SECRETS && existsSync(path)) {
    return { credential: parseCredential(readFileSync(path, 'utf8').trim(), path) };
  }
  return { ring: readOperatorKeys(environment, service) };
}

function parseCredential(text: string, source: string): Credential {
  const credential = readCredential(text);
  if (!credential) throw new ConnectionError(`${source} does not contain a credential as \`operators add\` prints it`);
  return credential;
}

/**
 * Returns the key ring with which operators call a service: INTERNAL_KEYS; without it, a ring derived from
 * ADMIN_SECRETS or from the secret of the system that `npm start` runs on this machine.
 */
export function readOperatorKeys(environment: Environment, service: string): KeyRing {
  const { INTERNAL_KEYS, ADMIN_SECRETS } = readConfig(OPERATORS_CONFIG, environment);
  const purpose = callPurpose(OPERATORS, service);
  if (INTERNAL_KEYS && !INTERNAL_KEYS.purposes.includes(purpose)) {
    throw new ConfigError([`INTERNAL_KEYS has no key for ${purpose}: set the keys that were derived for guildctl`]);
  }
  return INTERNAL_KEYS ?? new SecretRing(ADMIN_SECRETS ?? [localAdminSecret(dataFolder(environment))]);
}

/** A process of the installation, and the address of its metrics. */
export interface Process {
  name: string;
  /**
   * The origin (scheme, host and port) of the process's admin port. If the host is a name, the name stands for all
   * replicas.
   */
  url: string;
}

const PROCESS = /^([a-z][a-z0-9-]{0,30})=(?:http:\/\/)?([^\s/@]+:[0-9]{1,5})\/?$/;

/**
 * Returns the processes that are given as `name=host:port`; without them the processes in GUILDCTL_ADMIN, or the
 * processes of the system that `npm start` runs on this machine.
 */
export function readProcesses(environment: Environment, given: readonly string[]): Process[] {
  const variable = (environment['GUILDCTL_ADMIN'] ?? '').split(',').filter(Boolean);
  const texts = given.length > 0 ? given : variable;
  return texts.length > 0 ? texts.map(parseProcess) : localProcesses(dataFolder(environment));
}

function parseProcess(text: string): Process {
  const [, name, address] = PROCESS.exec(text.trim()) ?? [];
  if (!name || !address || !URL.canParse(`http://${address}`)) {
    throw new UsageError(['--admin and GUILDCTL_ADMIN take NAME=HOST:PORT']);
  }
  return { name, url: `http://${address}` };
}
