import { PROCESSES, type ProcessContract } from '#proto/processes.ts';

/** The caller name of guildctl, with which it calls administrative methods for any operator. */
export const OPERATORS = 'operators';

/** Returns the purpose of the key that signs the principals that the gateway sends to a service. */
export const principalPurpose = (audience: string) => `principal:${audience}`;

/** Returns the purpose of the key that signs the call tokens of one caller for one service. */
export const callPurpose = (caller: string, audience: string) => `call:${caller}:${audience}`;

/**
 * Returns the caller that signs its call tokens for a service with the key of this purpose; undefined for any other
 * purpose.
 */
export function callerOf(purpose: string, audience: string): string | undefined {
  const [kind, caller, called] = purpose.split(':');
  return kind === 'call' && called === audience ? caller : undefined;
}

/**
 * Returns the purpose of the key that signs the tickets that the auth service issues to operators for calls to one
 * service.
 */
export const ticketPurpose = (audience: string) => `ticket:${audience}`;

/** The kinds of root secrets from which keys are derived: `admin` for operators' keys, `internal` for all others. */
export type Root = 'internal' | 'admin';

/**
 * Returns the root secret from which the key of a purpose is derived: ADMIN_SECRETS for operators' keys, otherwise
 * INTERNAL_SECRETS.
 */
export function rootOf(purpose: string): Root {
  return purpose.startsWith(`call:${OPERATORS}:`) || purpose.startsWith('ticket:') ? 'admin' : 'internal';
}

/** The name of the process that issues operators' tickets. */
const ISSUER = 'auth';
/** The name of the tool that holds the operators' keys; it serves no requests. */
export const OPERATOR_TOOL = 'guildctl';

const table: Readonly<Record<string, ProcessContract>> = PROCESSES;
const names = Object.keys(table);

/** The names of all processes that hold derived keys. */
export const KEY_HOLDERS: readonly string[] = [...names, OPERATOR_TOOL];

/** Returns the purposes of exactly those keys that a process must hold; undefined for an unknown process. */
export function purposesOf(process: string): string[] | undefined {
  if (process === OPERATOR_TOOL) return names.map((name) => callPurpose(OPERATORS, name));
  const own = table[process];
  if (!own) return undefined;
  const callers = names.filter((name) => table[name]?.calls.includes(process));
  const purposes = [
    ...own.signs.map(principalPurpose),
    ...(own.servesHttp ? [principalPurpose(process)] : []),
    ...own.calls.map((audience) => callPurpose(process, audience)),
    ...callers.map((caller) => callPurpose(caller, process)),
    ...own.stores,
    callPurpose(OPERATORS, process),
    ...(process === ISSUER ? names.filter((name) => name !== ISSUER) : [process]).map(ticketPurpose),
  ];
  return [...new Set(purposes)];
}
