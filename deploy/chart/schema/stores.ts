import { z } from 'zod';
import { HOST, HOST_NAME, MAX_HOSTS } from '#kit/postgres/hosts/url.ts';
import { DEPLOYABLES } from '#local/processes.ts';
import { group, named, orEmpty } from './build.ts';
import { flag, key, keyOf, name, port } from './common.ts';

const identifier = z.string().regex(/^[a-z_][a-z0-9_]*$/);
/** The credentials of a role: the Secret, and its keys with the password and, if it has one, the name of the role. */
const credentials = named('credentials', group({ name, passwordKey: key, usernameKey: key.or(z.literal('')) }));
/** A host without a port, which is a value of its own; empty if there is none. */
const host = named('host', orEmpty(z.string().regex(HOST_NAME)));
const services = DEPLOYABLES.filter(({ holds }) => holds.includes('database')).map(({ name: service }) => service);
const roles = ['owner', ...services];

export const stores = {
  secrets: group({
    existingSecret: name,
    keysPrefix: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$/),
    keys: group({ internalKeys: key, chatBotToken: key, gameApiKey: key, redisUrl: key }),
  }),
  database: group({
    host,
    hosts: z.array(z.string().regex(HOST)).max(MAX_HOSTS),
    port,
    name: identifier.max(50),
    addressSecret: group({ name, hostKey: key, portKey: key, nameKey: key }),
    direct: group({ host, port }),
    maxConnections: z.int().min(0),
    existingSecret: name,
    credentials: group(Object.fromEntries(roles.map((role) => [role, credentials]))),
    owner: identifier.max(50),
    roles: group({ prefix: identifier.max(40), create: flag }),
    tls: group({
      mode: z.enum(['verify-full', 'no-verify', 'disable']),
      caSecret: keyOf,
      caConfigMap: keyOf,
    }),
  }),
  redis: group({ enabled: flag, existingSecret: name, tls: group({ caSecret: keyOf, caConfigMap: keyOf }) }),
};
