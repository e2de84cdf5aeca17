import { z } from 'zod';
import type { Roots } from '../security/process-keys.ts';
import { ConfigError, type Environment, readConfig, required } from './config.ts';

/**
 * Describes an environment variable that holds one or two secrets separated by a comma, of which the first signs and
 * both verify, of at least 32 bytes each.
 */
export const secrets = () =>
  z
    .string(required)
    .transform((value) => value.split(',').map((part) => part.trim()))
    .refine((all) => all.length <= 2, { error: 'must hold at most two secrets' })
    .refine((all) => all.every((secret) => Buffer.byteLength(secret) >= 32), {
      error: 'must hold secrets of at least 32 bytes, for example from `openssl rand -base64 48`',
    });

/** The environment variables with the root secrets, for guildctl and for programs that derive the keys of processes. */
export const rootConfig = { INTERNAL_SECRETS: secrets(), ADMIN_SECRETS: secrets() };

/**
 * Reads the root secrets. Throws a ConfigError if the internal and the admin secrets share one: then every service
 * could act as an operator.
 */
export function readRoots(environment: Environment): Roots {
  const { INTERNAL_SECRETS: internal, ADMIN_SECRETS: admin } = readConfig(rootConfig, environment);
  if (!admin.some((secret) => internal.includes(secret))) return { internal, admin };
  throw new ConfigError(['ADMIN_SECRETS must not hold a secret of INTERNAL_SECRETS']);
}
