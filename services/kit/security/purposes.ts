import { PROCESSES, type ProcessContract } from '#proto/processes.ts';

/** The caller of administrative methods: guildctl, in whoever's hands. */
export const OPERATORS = 'operators';

/** For the seal of principals that the gateway forwards to a service. */
export const principalPurpose = (audience: string) => `principal:${audience}`;

/** For the tokens with which one caller calls one service. */
export const callPurpose = (caller: string, audience: string) => `call:${caller}:${audience}`;

/** Who calls this audience with the key of this purpose; undefined where it is for something else. */
export function callerOf(purpose: string, audience: string): string | undefined {
  const [kind, caller, called] = purpose.split(':');
  return kind === 'call' && called === audience ? caller : undefined;
}

/** For the tickets that auth issues to operators for administrative calls to one service. */
export const ticketPurpose = (audience: string) => `ticket:${audience}`;

/** The root secrets from which keys are derived: what operators do has one of its own. */
export type Root = 'internal' | 'admin';

/** Administrative purposes are derived from ADMIN_SECRETS, all others from INTERNAL_SECRETS. */
export function rootOf(purpose: string): Root {
  return purpose.startsWith(`call:${OPERATORS}:`) || purpose.startsWith('ticket:') ? 'admin' : 'internal';
}

/** The process that issues tickets. */
const ISSUER = 'auth';
/** Holds the operators' keys, and serves nothing. */
export const OPERATOR_TOOL = 'guildctl';

const table: Readonly<Record<string, ProcessContract>> = PROCESSES;
const names = Object.keys(table);

/** Every process that is given keys. */
export const KEY_HOLDERS: readonly string[] = [...names, OPERATOR_TOOL];

/** The purposes of all keys that a process must hold, and may; undefined for a name that is in no table. */
export function purposesOf(process: string): string[] | undefined {
  if (process === OPERATOR_TOOL) return names.map((name) => callPurpose(OPERATORS, name));
  const own = table[process];
  if (!own) return undefined;
  const callers = names.filter((name) => table[name]?.calls.includes(process));
  return [
    ...own.proxies.map(principalPurpose),
    ...(own.servesHttp ? [principalPurpose(process)] : []),
    ...own.calls.map((audience) => callPurpose(process, audience)),
    ...callers.map((caller) => callPurpose(caller, process)),
    ...own.stores,
    callPurpose(OPERATORS, process),
    ...(process === ISSUER ? names.filter((name) => name !== ISSUER) : [process]).map(ticketPurpose),
  ];
}
