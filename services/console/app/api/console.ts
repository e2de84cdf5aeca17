import type { z } from 'zod';
import type { CONSOLE_ENDPOINTS, ConsoleEndpointName } from '#proto/console/api.ts';
import { CONSOLE_PREFIX } from '../constants.ts';
import { send } from './http.ts';

type Endpoints = typeof CONSOLE_ENDPOINTS;
type WithData = {
  [N in ConsoleEndpointName]: Endpoints[N] extends { data: z.ZodType } ? N : never;
}[ConsoleEndpointName];
type Part<N extends ConsoleEndpointName, P extends string> =
  Endpoints[N] extends Record<P, infer S extends z.ZodType> ? { [K in P]: z.input<S> } : { [K in P]?: never };

/** The endpoints of the console that return data. The compiler compares this table with proto/console/api.ts. */
const PATHS: { [N in WithData]: `${Endpoints[N]['method']} ${Endpoints[N]['path']}` } = {
  listProviders: 'GET /providers',
  useLink: 'POST /sign-in/link',
  getSession: 'GET /session',
  listSessions: 'GET /sessions',
  endSession: 'DELETE /sessions/:sessionId',
  signOut: 'POST /sign-out',
  signOutEverywhere: 'POST /sign-out-everywhere',
  listAccess: 'GET /guilds/:guildId/access',
  setAccess: 'PUT /guilds/:guildId/access/:chatId',
  removeAccess: 'DELETE /guilds/:guildId/access/:chatId',
  listKeys: 'GET /guilds/:guildId/keys',
  createKey: 'POST /guilds/:guildId/keys',
  updateKey: 'PATCH /guilds/:guildId/keys/:keyId',
  rotateKey: 'POST /guilds/:guildId/keys/:keyId/rotate',
  revokeKey: 'DELETE /guilds/:guildId/keys/:keyId',
  listAudit: 'GET /guilds/:guildId/audit',
  exportPerson: 'POST /guilds/:guildId/export',
  erasePerson: 'POST /guilds/:guildId/erase',
};

export type ConsoleInput<N extends WithData> = Part<N, 'params'> & Partial<Part<N, 'query'>> & Part<N, 'body'>;
export type ConsoleData<N extends WithData> = Endpoints[N] extends { data: infer S extends z.ZodType }
  ? z.output<S>
  : never;

interface Input {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
}

/** Calls an endpoint of the console: `consoleCall('createKey', { params: { guildId }, body: { name, scopes } })`. */
export function consoleCall<N extends WithData>(
  name: N,
  input: ConsoleInput<N>,
  signal?: AbortSignal,
): Promise<ConsoleData<N>> {
  const { params = {}, query = {}, body } = input as Input;
  const [method = 'GET', path = ''] = PATHS[name].split(' ');
  const filled = path.replaceAll(/:(\w+)/g, (_, parameter: string) => encodeURIComponent(params[parameter] ?? ''));
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  const url = CONSOLE_PREFIX + filled + (search && `?${search}`);
  return send({ method, url, signal, body: body === undefined ? undefined : JSON.stringify(body) });
}
