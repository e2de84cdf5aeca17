import { ROUTES } from '#proto/rest/index.ts';
import type { Route } from '#proto/rest/route.ts';
import { SCOPES } from '#proto/rest/scopes.ts';

/** The guild given in one place: none, the key's own, or another. */
export type Named = 'none' | 'own' | 'other';

/** Kinds of keys; a scope stands for a key with only that scope. */
export type KeyKind = (typeof SCOPES)[number] | 'no scope' | 'legacy';

/** Further faults of a key or of its client address. */
export type KeyState = 'good' | (typeof STATES)[number];

const STATES = [
  'missing',
  'malformed',
  'revoked',
  'expired',
  'in the query',
  'at its address',
  'elsewhere',
  'with its address forged',
] as const;

/** One cell of the matrix. */
export interface Cell {
  route: Route;
  kind: KeyKind;
  state: KeyState;
  path: Named;
  header: Named;
  body: Named;
  query: Named;
}

/** The expected result: `passes` is any response that only a service sends to an admitted request. */
export interface Verdict {
  status: number | 'passes';
  code?: string;
  /** For MISSING_SCOPE. */
  scope?: string;
  /** The path in the 400 that reports the missing guild. */
  fault?: string;
}

export const KINDS: KeyKind[] = [...SCOPES, 'no scope', 'legacy'];
const ANY: Named[] = ['none', 'own', 'other'];

const hasPath = ({ path }: Route) => path.includes(':guildId');
const takesBody = ({ method }: Route) => method !== 'GET';

/** Every route x every kind of key x every way to give guilds, and every fault of a key on every route. */
export function cells(): Cell[] {
  const all: Cell[] = [];
  for (const route of ROUTES) {
    const paths: Named[] = hasPath(route) ? ['own', 'other'] : ['none'];
    const bodies = takesBody(route) ? ANY : (['none'] as const);
    for (const kind of KINDS) {
      for (const path of paths) {
        for (const header of ANY) {
          for (const body of bodies) all.push({ route, kind, state: 'good', path, header, body, query: 'none' });
        }
      }
      // No route takes its guild from the query, so it has no effect there.
      all.push({ ...right(route), kind, header: 'none', query: 'own' }, { ...right(route), kind, query: 'other' });
    }
    for (const state of STATES) all.push({ ...right(route), state });
  }
  return all;
}

/** The guild in the place that the route requires. */
function right(route: Route): Cell {
  const path = hasPath(route) ? 'own' : 'none';
  const header = route.guild === 'header' ? 'own' : 'none';
  const body = route.guild === 'body' ? 'own' : 'none';
  return { route, kind: 'legacy', state: 'good', path, header, body, query: 'none' };
}

const STATE_VERDICTS: Record<Exclude<KeyState, 'good'>, Verdict> = {
  missing: { status: 401, code: 'MISSING_API_KEY' },
  malformed: { status: 401, code: 'INVALID_API_KEY' },
  revoked: { status: 401, code: 'INVALID_API_KEY' },
  'in the query': { status: 401, code: 'INVALID_API_KEY' },
  expired: { status: 401, code: 'API_KEY_EXPIRED' },
  'at its address': { status: 'passes' },
  elsewhere: { status: 403, code: 'IP_NOT_ALLOWED' },
  'with its address forged': { status: 403, code: 'IP_NOT_ALLOWED' },
};

const MISMATCH: Verdict = { status: 403, code: 'GUILD_MISMATCH' };

/** Sections 2 and 3 of the contract and section 5 of the specification, in their order. */
export function verdictOf(cell: Cell): Verdict {
  if (cell.state !== 'good') return STATE_VERDICTS[cell.state];
  return rejectionBeforeLimits(cell) ?? verdictOfService(cell);
}

/** True if the rate limits of its guild count the request. */
export function isCounted(cell: Cell): boolean {
  return rejectionBeforeLimits(cell) === undefined;
}

function rejectionBeforeLimits({ route, kind, path, header }: Cell): Verdict | undefined {
  if (path === 'other' || header === 'other') return MISMATCH;
  if (header === 'none' && route.guild === 'header') return { status: 400, fault: 'header.X-Guild-ID' };
  if (route.scope !== null && !reaches(kind, route.scope)) {
    return { status: 403, code: 'MISSING_SCOPE', scope: route.scope };
  }
  return undefined;
}

function verdictOfService({ route, body }: Cell): Verdict {
  if (body === 'other') return MISMATCH;
  if (body === 'none' && route.guild === 'body') return { status: 400, fault: 'body.guild_id' };
  return { status: 'passes' };
}

/** Section 3 of the contract: a write scope includes the read scope of the same name. */
function reaches(kind: KeyKind, required: string): boolean {
  if (kind === 'legacy' || kind === required) return true;
  const [name, action] = required.split(':');
  return action === 'read' && kind === `${name}:write`;
}

export function titleOf({ route, kind, state, path, header, body, query }: Cell): string {
  const named = Object.entries({ path, header, body, query }).filter(([, how]) => how !== 'none');
  const where = named.map(([place, how]) => `${how} guild in the ${place}`).join(', ') || 'no guild';
  return `${route.method} ${route.path}, key ${kind}${state === 'good' ? '' : ` (${state})`}, ${where}`;
}
