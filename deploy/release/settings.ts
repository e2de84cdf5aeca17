import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { SigningKey } from './evidence/key.ts';
import type { Credentials } from './oci/registry.ts';

/** Where a release goes: a folder, or a registry and the path of the repositories in it. */
export type Destination = { folder: string } | { host: string; path: string; credentials?: Credentials };

export type Settings = { destination: Destination; key: SigningKey; builder: string };

const REGISTRY = /^oci:\/\/(?<host>[^/]+)\/(?<path>[a-z0-9]+(?:[._/-][a-z0-9]+)*)\/?$/;

const SECRETS = ['RELEASE_KEY_PASSPHRASE', 'RELEASE_PASSWORD'] as const;

const environmentShape = z
  .object({
    RELEASE_TO: z
      .string('set RELEASE_TO to a folder, or to a registry such as oci://registry.example/community')
      .min(1)
      .refine((to) => !to.includes('://') || REGISTRY.test(to), {
        error: ({ input }) => `RELEASE_TO must be a folder or oci://HOST/PATH in lower case, not ${String(input)}`,
      }),
    RELEASE_KEY_FILE: z.string('set RELEASE_KEY_FILE to the private key that signs the release').min(1),
    RELEASE_KEY_PASSPHRASE: z.string().optional(),
    RELEASE_USER: z.string().optional(),
    RELEASE_PASSWORD: z.string().optional(),
    RELEASE_BUILDER: z.url('RELEASE_BUILDER must be a URI').default('urn:guild-data:builder:unnamed'),
  })
  .refine(({ RELEASE_USER: user, RELEASE_PASSWORD: password }) => !user === !password, {
    error: 'set both RELEASE_USER and RELEASE_PASSWORD, or neither',
  });

/**
 * Reads the variables of a release; the error names everything that is missing or wrong. Removes the secrets from the
 * environment, so that the programs which the release starts do not receive them.
 */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const result = environmentShape.safeParse(environment);
  for (const name of SECRETS) delete environment[name];
  if (!result.success) throw new Error(result.error.issues.map(({ message }) => message).join('\n'));
  const variables = result.data;
  const key = readKey(variables.RELEASE_KEY_FILE, variables.RELEASE_KEY_PASSPHRASE);
  return { destination: destinationOf(variables), key, builder: variables.RELEASE_BUILDER };
}

function readKey(file: string, passphrase: string | undefined): SigningKey {
  try {
    return new SigningKey(readFileSync(file, 'utf8'), passphrase);
  } catch (error) {
    throw new Error(`RELEASE_KEY_FILE cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

type Variables = Pick<z.output<typeof environmentShape>, 'RELEASE_TO' | 'RELEASE_USER' | 'RELEASE_PASSWORD'>;

function destinationOf({ RELEASE_TO: to, RELEASE_USER: user, RELEASE_PASSWORD: password }: Variables): Destination {
  const { host, path } = REGISTRY.exec(to)?.groups ?? {};
  if (host && path) return { host, path, ...(user && password && { credentials: { user, password } }) };
  return { folder: resolve(to) };
}
